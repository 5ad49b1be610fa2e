"""How a painted face or a cover comes into a picture: light, edges, focus, the one compositor."""
