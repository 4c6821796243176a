#include "comm/federation/simulation/client_seconds.h"

#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "tensor/errors.h"
#include "tensor/text/number.h"
#include "tensor/text/one_line.h"

namespace dtnn::federation {

absl::StatusOr<ClientSeconds> ParseClientSeconds(std::string_view text) {
  constexpr std::string_view kLogNormal = "lognormal:";
  if (text == "equal") return ClientSeconds{};
  if (text.starts_with(kLogNormal)) {
    const std::optional<double> spread = NumberIn<double>(text.substr(kLogNormal.size()));
    if (spread && *spread >= 0 && *spread <= 10) return ClientSeconds{.spread = *spread};
  }
  return InvalidArgument("\"", OneLine(std::string(text), 80),
                         "\": expected equal, or lognormal:SPREAD with a spread from 0 to 10, such "
                         "as lognormal:1");
}

absl::StatusOr<double> SecondsOf(const ClientSeconds& seconds, const SimulationSeed& seed,
                                 int client) {
  if (seconds.spread == 0) return 1.0;
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random,
                        seed.Stream(SimulationSeed::kSeconds, 0, uint64_t(client)));
  std::vector<uint32_t> bits(2);
  random.FillWords(std::span(bits));
  // Box and Muller; above 0, at most 1.
  const double u = (bits[0] + 1.0) * 0x1p-32, v = bits[1] * 0x1p-32;
  const double z = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  return std::exp(seconds.spread * z);
}

}  // namespace dtnn::federation
