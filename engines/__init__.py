"""Stateless inference and pixels: arrays in, arrays out."""
