"""What may be chosen: settings, presets and their JSON schema."""
