"""Reading CSV and Parquet files, and writing predictions."""
