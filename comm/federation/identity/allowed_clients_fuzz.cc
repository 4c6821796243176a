// Any text as a list of clients; one that is taken is the same when it is written and read again.

#include <cstddef>
#include <cstdint>
#include <string>

#include "comm/federation/identity/allowed_clients.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dtnn::federation;
  const auto keys = ParseAllowedClients({reinterpret_cast<const char*>(data), size}, "list");
  if (!keys.ok()) return 0;
  std::string text;
  for (const auto& [name, key] : *keys) text += name + " " + dtnn::ToText(key) + "\n";
  const auto again = ParseAllowedClients(text, "list");
  if (!again.ok() || *again != *keys) __builtin_trap();
  return 0;
}
