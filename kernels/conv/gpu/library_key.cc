#include "kernels/conv/gpu/library_key.h"

#include <string>

#include "absl/strings/ascii.h"
#include "kernels/conv/choice/fastest_key.h"

namespace dtnn::conv {
namespace {

// A name as a word of a key.
std::string WordOf(std::string_view name) {
  std::string word(name);
  for (char& c : word) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return word;
}

}  // namespace

BestOfKey LibraryKey(std::string_view gpu, std::string_view library, const Conv2dSpec& spec,
                     Direction direction, bool accumulate) {
  BestOfKey key = FastestConv2dKey(spec, direction, /*keeps_filter=*/false);
  if (accumulate) key.problem += "_added";
  key.threads = 1;
  key.machine = "gpu:" + WordOf(gpu) + "-" + WordOf(library);
  return key;
}

}  // namespace dtnn::conv
