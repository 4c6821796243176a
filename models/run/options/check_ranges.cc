#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "comm/ranks/job/exit_code.h"
#include "models/run/options/option_members.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::Status CheckRanges(const RunOptions& options) {
  for (const OptionMember& member : OptionMembers()) {
    const auto check = [&](double number) {
      if (std::isfinite(number) && member.range.Takes(number)) return absl::OkStatus();
      return UsageError("RunOptions::", member.path, "=", number, ": must be a number",
                        member.range.ToText());
    };
    const OptionValue value = member.load(options);
    if (const auto* number = std::get_if<int64_t>(&value)) {
      DTNN_RETURN_IF_ERROR(check(double(*number)));
    } else if (const auto* real = std::get_if<double>(&value)) {
      DTNN_RETURN_IF_ERROR(check(*real));
    } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
      for (const int64_t each : *numbers) DTNN_RETURN_IF_ERROR(check(double(each)));
    } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
      for (const double each : *reals) DTNN_RETURN_IF_ERROR(check(each));
    }
  }
  return absl::OkStatus();
}

}  // namespace dtnn
