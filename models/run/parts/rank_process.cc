#include "models/run/parts/rank_process.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "comm/communicator.h"
#include "comm/ranks/job/interrupt.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

LaunchPlace PlaceOfProcess(const RunOptions& options, const GetVariable& get) {
  const std::string& transport = options.ranks.transport;
  return FindLaunchPlace([&](const char* name) -> const char* {
    if (transport != "auto" && std::string_view(name) == kTransportVariable) {
      return transport.c_str();
    }
    return get ? get(name) : std::getenv(name);
  });
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
