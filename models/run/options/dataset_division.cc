#include "models/run/options/dataset_division.h"

#include <string_view>

#include "comm/ranks/job/exit_code.h"
#include "tensor/text/one_line.h"

namespace dtnn {

absl::StatusOr<Division> DivisionOf(const RunOptions& options) {
  const std::string_view text = options.data.part;
  const size_t at = text.find('@');
  if (at == text.npos) return Division{};
  return OfFlag(ParseDivision(text.substr(at + 1)), "RunOptions::data.part=", OneLine(text, 80),
                ": after the @");
}

}  // namespace dtnn
