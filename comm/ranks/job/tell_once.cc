#include "comm/ranks/job/tell_once.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "comm/ranks/job/rank_process.h"
#include "comm/ranks/job/ranks.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// How long a rank with wrong flags waits for others to tell the user of it. Where they do not
// communicate (--parallel=sequential) it tells him itself.
constexpr std::chrono::seconds kTimeForWords{20};

}  // namespace

absl::Status ErrorOfRank(const Communicator& communicator, const absl::Status& status,
                         int exit_code_of_loss) {
  if (status.ok()) return status;
  const int rank = communicator.rank();
  const std::vector<int> lost = communicator.lost();
  const bool among_lost = std::ranges::count(lost, rank) > 0;
  const bool told = absl::IsAborted(status) ||  // by the rank that could not begin (Agree)
                    (absl::IsCancelled(status) && rank > 0) ||
                    (!lost.empty() && !among_lost && rank != LowestRankLeft(communicator));
  const bool loss = !lost.empty() && IsLossOfPeer(status);
  return WithExitCode(
      absl::Status(status.code(), told ? "" : StrCat("rank ", rank, ": ", status.message())),
      ExitCodeOf(status, loss ? exit_code_of_loss : kExitFailed));
}

absl::Status TellOnce(const absl::Status& wrong, const LaunchPlace& place,
                      const std::string& program, std::ostream& out, std::ostream& err) {
  if (!place.launched || place.ranks == 1) return wrong;
  const auto warn = [&](std::string_view line) {
    err << StrCat(program, ": warning: ", line, "\n") << std::flush;
  };
  const RankProcessOptions rank = {
      .program = program,
      .communicator = {.timeout = kTimeForWords, .warn_after = kTimeForWords / 5, .warn = warn},
      .when_lost = [&](const absl::Status&) { return wrong; }};
  return RunAsRank(place, rank, out, err, [&](Communicator& communicator) {
    return ErrorOfRank(communicator, Agree(&communicator, wrong));
  });
}

}  // namespace dtnn
