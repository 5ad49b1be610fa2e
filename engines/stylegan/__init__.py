"""The StyleGAN side of the engines: latents, control maps, shape and masks in numpy."""
