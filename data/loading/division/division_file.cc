#include "data/loading/division/division_file.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/text/counted.h"
#include "tensor/text/number.h"
#include "tensor/text/one_line.h"

namespace dtnn {
namespace {

constexpr std::string_view kBetween = ", \t\r";

}  // namespace

absl::StatusOr<std::vector<std::vector<int64_t>>> ParseDivisionFile(std::string_view text,
                                                                    const std::string& name,
                                                                    int64_t n, int64_t parts) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const int64_t lines = std::ranges::count(text, '\n') + 1;
  if (lines != parts) {
    return InvalidArgument(name, ": has ", Counted(lines, "line"), ", expected one for each of ",
                           Counted(parts, "client"));
  }
  std::vector<std::vector<int64_t>> divided;
  divided.resize(size_t(parts));
  std::vector<int64_t> line_of;  // from 1, by sample
  line_of.resize(size_t(n));
  for (int64_t line = 1; line <= parts; ++line) {
    std::string_view rest = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(rest.size() + 1, text.size()));
    std::vector<int64_t>& own = divided[size_t(line - 1)];
    while (true) {
      rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
      if (rest.empty()) break;
      const std::string_view word = rest.substr(0, rest.find_first_of(kBetween));
      rest.remove_prefix(word.size());
      const std::optional<int64_t> sample = NumberIn<int64_t>(word);
      if (!sample || *sample < 0 || *sample >= n) {
        return InvalidArgument(name, ", line ", line, ": \"", OneLine(std::string(word), 40),
                               "\" is not the number of a training sample, 0 to ", n - 1);
      }
      int64_t& before = line_of[size_t(*sample)];
      if (before != 0) {
        return InvalidArgument(name, ", line ", line, ": sample ", *sample,
                               " is there already, in line ", before);
      }
      before = line;
      own.push_back(*sample);
    }
    std::ranges::sort(own);
  }
  return divided;
}

absl::StatusOr<std::vector<std::vector<int64_t>>> ReadDivisionFile(const std::string& path,
                                                                   int64_t n, int64_t parts) {
  // Numbers of 20 digits at most, and what is between them.
  constexpr int64_t kBytesPerSample = 24;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                        ReadFile(path, kBytesPerSample * (n + parts)));
  return ParseDivisionFile({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, n,
                           parts);
}

}  // namespace dtnn
