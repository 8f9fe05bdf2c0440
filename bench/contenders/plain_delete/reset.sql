\ir ../plain/reset.sql
