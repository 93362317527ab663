mod compare;
mod mask;
mod read;
