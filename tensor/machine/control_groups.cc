#include "tensor/machine/control_groups.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "tensor/machine/system_file.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

bool Lists(const std::string& controllers, std::string_view controller) {
  const std::vector<std::string> names = absl::StrSplit(controllers, ',');
  return std::ranges::count(names, controller) > 0;
}

// A mounted hierarchy of control groups.
struct Hierarchy {
  bool second = false;      // of version 2
  std::string mount, root;  // the group `root` of the hierarchy is the folder `mount`
};

// Lines of mountinfo: "36 35 98:0 ROOT MOUNT options [more] - TYPE source OPTIONS".
std::vector<Hierarchy> FindHierarchies(std::string_view controller, const std::string& root) {
  std::vector<Hierarchy> found;
  for (const std::string& line : LinesOf(root + "/proc/self/mountinfo")) {
    const std::vector<std::string> words = WordsOf(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const bool second = dash[1] == "cgroup2";
    if (second || (dash[1] == "cgroup" && Lists(dash[3], controller))) {
      found.push_back({second, words[4], words[3]});
    }
  }
  return found;
}

// The group of this process: lines "number:controllers:group", without controllers for version 2.
std::optional<std::string> GroupIn(const Hierarchy& hierarchy, std::string_view controller,
                                   const std::string& root) {
  for (const std::string& line : LinesOf(root + "/proc/self/cgroup")) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() < 3) continue;
    const bool fits =
        hierarchy.second ? parts[0] == "0" && parts[1].empty() : Lists(parts[1], controller);
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

// The microseconds of all processors that a group may take in each period of so many; nothing
// without a quota: "max" in version 2, -1 in version 1.
std::optional<double> QuotaOf(const ControlGroup& group, const std::string& root) {
  const std::string folder = root + group.folder;
  std::vector<std::string> words;
  for (const char* const file : {group.second ? "/cpu.max" : "/cpu.cfs_quota_us",
                                 group.second ? "" : "/cpu.cfs_period_us"}) {
    const std::vector<std::string> lines = LinesOf(folder + file);
    if (lines.empty()) continue;
    for (std::string& word : WordsOf(lines[0])) words.push_back(std::move(word));
  }
  if (words.size() != 2) return std::nullopt;
  const double quota = double(NumberIn<int64_t>(words[0]).value_or(0));
  const double period = double(NumberIn<int64_t>(words[1]).value_or(0));
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

}  // namespace

std::vector<ControlGroup> ControlGroupsOf(std::string_view controller, const std::string& root) {
  std::vector<ControlGroup> groups;
  for (const Hierarchy& hierarchy : FindHierarchies(controller, root)) {
    const std::optional<std::string> group = GroupIn(hierarchy, controller, root);
    if (!group) continue;
    for (std::string below = BelowMount(hierarchy, *group);; below.erase(below.rfind('/'))) {
      groups.push_back({hierarchy.mount + below, hierarchy.second});
      if (below.empty()) break;
    }
  }
  return groups;
}

std::optional<double> ProcessorQuota(const std::string& root) {
  std::optional<double> least;
  for (const ControlGroup& group : ControlGroupsOf("cpu", root)) {
    const std::optional<double> quota = QuotaOf(group, root);
    if (quota && (!least || *quota < *least)) least = quota;
  }
  return least;
}

}  // namespace dtnn
