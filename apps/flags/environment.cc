#include "apps/flags/environment.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/str_join.h"
#include "tensor/text/nearest.h"
#include "tensor/text/number.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr std::string_view kPrefix = "PYMPI_";
constexpr std::string_view kKnown[] = {"PROTO", "SSL",  "SSL_KEY", "SSL_CERT", "SSL_CA",
                                       "ADDR",  "PORT", "SIZE",    "RANK"};

constexpr std::string_view kThreads = "OMP_NUM_THREADS=";
constexpr int kMostThreads = 1024;

// "4", or "4,2" of programs with loops inside of loops.
bool IsThreads(std::string_view value) {
  const std::optional<int> threads = NumberIn<int>(value.substr(0, value.find(',')));
  return threads && *threads >= 1 && *threads <= kMostThreads;
}

}  // namespace

std::vector<std::string> EnvironmentWarnings(const char* const* environment, Transport transport) {
  std::vector<std::string> warnings, unknown, unused;
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable(*environment);
    if (variable.starts_with(kThreads) && !IsThreads(variable.substr(kThreads.size()))) {
      warnings.push_back(StrCat("environment: ", OneLine(variable, 80),
                                ": must be a whole number from 1 to ", kMostThreads, "; using ",
                                NumThreads()));
    }
    if (!variable.starts_with(kPrefix)) continue;
    const std::string_view full = variable.substr(0, variable.find('='));
    const std::string_view name = full.substr(kPrefix.size());
    if (name == "PROTO") continue;
    if (std::ranges::find(kKnown, name) == std::end(kKnown)) {
      unknown.push_back(OneLine(full, 80));
      if (const std::optional<std::string_view> nearest = NearestName(name, kKnown)) {
        StrAppend(&unknown.back(), " (did you mean ", kPrefix, *nearest, "?)");
      }
    } else if (transport == Transport::kMpi) {
      unused.emplace_back(full);
    }
  }
  const auto warn = [&](std::vector<std::string> names, std::string_view before,
                        std::string_view after) {
    if (names.empty()) return;
    std::ranges::sort(names);
    warnings.push_back(StrCat("environment: ", before, absl::StrJoin(names, ", "), after));
  };
  warn(unknown, "unknown variables: ", "");
  warn(unused, "",
       ": have no effect, since ranks talk through MPI; PYMPI_PROTO=tcp, grpc or mqtt would use "
       "them");
  return warnings;
}

}  // namespace dtnn
