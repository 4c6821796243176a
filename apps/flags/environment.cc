#include "apps/flags/environment.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/str_join.h"
#include "apps/flags/nearest.h"
#include "comm/job/exit_code.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr std::string_view kPrefix = "PYMPI_";
constexpr std::string_view kKnown[] = {"PROTO", "SSL",  "SSL_KEY", "SSL_CERT",
                                       "ADDR",  "PORT", "SIZE",    "RANK"};

}  // namespace

std::vector<std::string> EnvironmentWarnings(const char* const* environment) {
  std::vector<std::string> unknown, unused;
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable(*environment);
    if (!variable.starts_with(kPrefix)) continue;
    const std::string_view full = variable.substr(0, variable.find('='));
    const std::string_view name = full.substr(kPrefix.size());
    if (std::ranges::find(kKnown, name) != std::end(kKnown)) {
      unused.emplace_back(full);
      continue;
    }
    unknown.push_back(OneLine(full, 80));
    if (const std::optional<std::string_view> nearest = NearestName(name, kKnown)) {
      StrAppend(&unknown.back(), " (did you mean ", kPrefix, *nearest, "?)");
    }
  }
  std::ranges::sort(unknown);
  std::ranges::sort(unused);
  std::vector<std::string> warnings;
  if (!unknown.empty()) {
    warnings.push_back(StrCat("environment: unknown variables: ", absl::StrJoin(unknown, ", ")));
  }
  if (!unused.empty()) {
    warnings.push_back(StrCat("environment: ", absl::StrJoin(unused, ", "),
                              ": not available in this build yet; ranks talk through MPI"));
  }
  return warnings;
}

}  // namespace dtnn
