\ir ../plain/create.sql
