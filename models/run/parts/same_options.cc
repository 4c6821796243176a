#include "models/run/parts/same_options.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/gather_values.h"
#include "comm/ranks/job/exit_code.h"
#include "models/run/options/option_members.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

absl::Status CompareOptions(Communicator& communicator, const RunOptions& options) {
  RunOptions compared = options;
  compared.ranks.rendezvous = "";  // they have met
  if (!options.ranks.shared_storage) {
    for (std::string* path : PathsOf(compared)) path->clear();
  }
  std::vector<std::string> members;
  std::vector<int64_t> mine;
  for (const OptionMember& member : OptionMembers()) {
    members.push_back(
        StrCat("RunOptions::", member.path, "=", OneLine(FormatValue(member.load(compared)))));
    mine.push_back(int64_t(std::hash<std::string>()(members.back())));
  }
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all, GatherValues<int64_t>(communicator, mine));
  for (size_t i = 0; i < mine.size(); ++i) {
    if (mine[i] == all[i]) continue;
    return UsageError(members[i],
                      ": differs from the value on rank 0; all ranks need the same options");
  }
  return absl::OkStatus();
}

}  // namespace dtnn
