create table tenants (
    id uuid primary key default gen_random_uuid(),
    name text not null unique
);

create table tickets (
    id uuid primary key,
    tenant uuid not null references tenants (id),
    title text not null,
    body text not null,
    priority text not null check (priority in ('low', 'normal', 'high')),
    opened_at timestamptz not null default now(),
    closed_at timestamptz,
    resolution text,
    check ((closed_at is null) = (resolution is null))
);

create index tickets_of_tenant on tickets (tenant, id);
