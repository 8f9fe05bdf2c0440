\ir ../plain/fill.sql
