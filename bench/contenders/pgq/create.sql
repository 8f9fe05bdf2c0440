create extension pgq;
