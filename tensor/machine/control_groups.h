// The control groups whose limits hold for this process: those of a container, a batch job, a
// service. Of version 1, where each controller may have a hierarchy of its own, and of version 2.

#ifndef DTNN_TENSOR_MACHINE_CONTROL_GROUPS_H_
#define DTNN_TENSOR_MACHINE_CONTROL_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtnn {

struct ControlGroup {
  std::string folder;   // with the controller's files, without the root of a test
  bool second = false;  // of version 2
};

// The groups of this process for a controller ("memory", "cpu"), each before the one that it is in,
// which may limit it further; none where the system does not tell. `root`: where /proc and /sys
// are, for tests.
std::vector<ControlGroup> ControlGroupsOf(std::string_view controller,
                                          const std::string& root = "");

// The processors that the quotas of these groups leave, as a number of whole ones in all: 0.5 where
// the process may run half of the time on one. Nothing where there is no quota.
std::optional<double> ProcessorQuota(const std::string& root = "");

}  // namespace dtnn

#endif  // DTNN_TENSOR_MACHINE_CONTROL_GROUPS_H_
