#include "models/run/parts/rank_process.h"

#include <chrono>
#include <cstdint>
#include <string_view>

#include "comm/communicator.h"
#include "comm/ranks/job/interrupt.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

LaunchPlace PlaceOfProcess(const RunOptions& options, const GetVariable& get) {
  const RankOptions& ranks = options.ranks;
  JobChoice choice = {
      .transport = ranks.transport, .address = ranks.rendezvous, .elastic = ranks.elastic};
  const LaunchPlace place = FindLaunchPlace(choice, get);
  if (ranks.parallel != Parallel::kFederated || place.transport != Transport::kMpi) return place;
  choice.transport = Transport::kTcp;
  return FindLaunchPlace(choice, get);
}

RankProcessOptions RankProcessOf(const RunOptions& options, const std::string& program,
                                 std::ostream& err) {
  const auto timeout = std::chrono::milliseconds(int64_t(options.ranks.timeout * 1000));
  return {.program = program,
          .communicator = {.timeout = timeout,
                           .warn_after = timeout / 5,
                           .warn =
                               [&err, program](std::string_view line) {
                                 err << StrCat(program, ": warning: ", line, "\n") << std::flush;
                               },
                           .interrupted = [] { return Interrupt::Last() != 0; }},
          .sums_in_rank_order = !options.sync.mpi_sums.value_or(true)};
}

}  // namespace dtnn
