#include "monitor/monitor.h"
namespace scylla::monitor { void install() {} }
