// Any bytes as a file of class names: it is refused, or its names are class names, each once, and
// the same when they are written one per line and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "data/datasets/class_list.h"
#include "tensor/text/class_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dtnn;
  const auto names = ParseClassFile({reinterpret_cast<const char*>(data), size}, "classes.txt");
  if (!names.ok()) return 0;
  std::set<std::string_view> distinct;
  std::string text;
  for (const std::string& name : *names) {
    if (!IsClassName(name) || !distinct.insert(name).second) std::abort();
    text += name + "\n";
  }
  const auto again = ParseClassFile(text, "classes.txt");
  if (names->empty() || !again.ok() || *again != *names) std::abort();
  return 0;
}
