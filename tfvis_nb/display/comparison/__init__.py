"""Two traces under each other."""
