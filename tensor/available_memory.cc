#include "tensor/available_memory.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

std::vector<std::string> Lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> Words(const std::string& line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

// A file of one number; nothing for "max", and where there is no such file.
std::optional<int64_t> Number(const std::string& path) {
  const std::vector<std::string> lines = Lines(path);
  const std::optional<int64_t> number = lines.empty() ? std::nullopt : NumberIn<int64_t>(lines[0]);
  return number && *number >= 0 ? number : std::nullopt;
}

// The sum of what a file of lines "name number ..." says of these names; 0 where it says nothing.
int64_t SumOf(const std::string& path, std::initializer_list<std::string_view> names) {
  int64_t sum = 0;
  for (const std::string& line : Lines(path)) {
    const std::vector<std::string> words = Words(line);
    if (words.size() >= 2 && std::ranges::count(names, std::string_view(words[0])) > 0) {
      sum += NumberIn<int64_t>(words[1]).value_or(0);
    }
  }
  return sum;
}

// A mounted hierarchy of control groups that limits memory.
struct Hierarchy {
  bool second = false;      // of version 2
  std::string mount, root;  // the group `root` of the hierarchy is the folder `mount`
};

// Lines of mountinfo: "36 35 98:0 ROOT MOUNT options [more] - TYPE source OPTIONS".
std::vector<Hierarchy> FindHierarchies(const std::string& root) {
  std::vector<Hierarchy> found;
  for (const std::string& line : Lines(root + "/proc/self/mountinfo")) {
    const std::vector<std::string> words = Words(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const std::vector<std::string> options = absl::StrSplit(dash[3], ',');
    const bool second = dash[1] == "cgroup2";
    if (second || (dash[1] == "cgroup" && std::ranges::count(options, "memory") > 0)) {
      found.push_back({second, words[4], words[3]});
    }
  }
  return found;
}

// The group of this process: lines "number:controllers:group", without controllers for version 2.
std::optional<std::string> GroupIn(const Hierarchy& hierarchy, const std::string& root) {
  for (const std::string& line : Lines(root + "/proc/self/cgroup")) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() < 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    const bool fits = hierarchy.second ? parts[0] == "0" && parts[1].empty()
                                       : std::ranges::count(controllers, "memory") > 0;
    if (fits) return parts[2];
  }
  return std::nullopt;
}

// The group's path below the mount; "" where that does not show the group: a container sees its own
// as the root.
std::string BelowMount(const Hierarchy& hierarchy, std::string group) {
  if (hierarchy.root != "/") {
    if (group != hierarchy.root && !group.starts_with(hierarchy.root + "/")) return "";
    group.erase(0, hierarchy.root.size());
  }
  const bool shown = group.starts_with('/') && group != "/" && group.find("..") == group.npos;
  return shown ? group : "";
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

void LimitBy(const Hierarchy& hierarchy, const std::string& root, AvailableMemory& available) {
  const std::optional<std::string> group = GroupIn(hierarchy, root);
  if (!group) return;
  // A group has no more than those that it is in.
  for (std::string below = BelowMount(hierarchy, *group);; below.erase(below.rfind('/'))) {
    const std::string folder = hierarchy.mount + below;
    const std::optional<int64_t> left = LeftOf(root + folder, hierarchy.second);
    if (left && *left < available.bytes) available = {*left, "the control group " + folder};
    if (below.empty()) return;
  }
}

}  // namespace

AvailableMemory FindAvailableMemory(const std::string& root) {
  AvailableMemory available;
  const int64_t kilobytes = SumOf(root + "/proc/meminfo", {"MemAvailable:"});
  if (kilobytes > 0) available.bytes = kilobytes * 1024;
  for (const Hierarchy& hierarchy : FindHierarchies(root)) LimitBy(hierarchy, root, available);
  return available;
}

}  // namespace dtnn
