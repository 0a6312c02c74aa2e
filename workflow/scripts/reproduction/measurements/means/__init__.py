"""Private Frechet means: errors, neighbours, realised losses, figures."""
