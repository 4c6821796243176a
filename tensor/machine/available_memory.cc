#include "tensor/machine/available_memory.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "tensor/machine/control_groups.h"
#include "tensor/machine/system_file.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

// A file of one number; nothing for "max", and where there is no such file.
std::optional<int64_t> Number(const std::string& path) {
  const std::vector<std::string> lines = LinesOf(path);
  const std::optional<int64_t> number = lines.empty() ? std::nullopt : NumberIn<int64_t>(lines[0]);
  return number && *number >= 0 ? number : std::nullopt;
}

// The sum of what a file of lines "name number ..." says of these names; 0 where it says nothing.
int64_t SumOf(const std::string& path, std::initializer_list<std::string_view> names) {
  int64_t sum = 0;
  for (const std::string& line : LinesOf(path)) {
    const std::vector<std::string> words = WordsOf(line);
    if (words.size() >= 2 && std::ranges::count(names, std::string_view(words[0])) > 0) {
      sum += NumberIn<int64_t>(words[1]).value_or(0);
    }
  }
  return sum;
}

// What the limit of one group leaves; nothing where it has none.
std::optional<int64_t> LeftOf(const std::string& folder, bool second) {
  const std::optional<int64_t> limit =
      Number(folder + (second ? "/memory.max" : "/memory.limit_in_bytes"));
  const std::optional<int64_t> used =
      Number(folder + (second ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!limit || !used) return std::nullopt;
  const std::string statistics = folder + "/memory.stat";
  const int64_t files = second ? SumOf(statistics, {"active_file", "inactive_file"})
                               : SumOf(statistics, {"total_active_file", "total_inactive_file"});
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *used - files));
}

}  // namespace

AvailableMemory FindAvailableMemory(const std::string& root) {
  AvailableMemory available;
  const int64_t kilobytes = SumOf(root + "/proc/meminfo", {"MemAvailable:"});
  if (kilobytes > 0) available.bytes = kilobytes * 1024;
  for (const ControlGroup& group : ControlGroupsOf("memory", root)) {
    const std::optional<int64_t> left = LeftOf(root + group.folder, group.second);
    if (left && *left < available.bytes) available = {*left, "the control group " + group.folder};
  }
  return available;
}

}  // namespace dtnn
