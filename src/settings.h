// Registers the settings (pg/settings.h) with the server.
#pragma once

namespace scylla::settings {

void define();

} // namespace scylla::settings
