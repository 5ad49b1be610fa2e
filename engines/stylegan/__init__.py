"""The StyleGAN side of the engines: latents, textures, light, shape and masks."""
