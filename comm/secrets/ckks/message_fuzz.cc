// Any bytes as keys, ciphertexts and shares: what is read is written as the same bytes.

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "comm/secrets/ckks/message.h"
#include "tensor/must.h"

namespace {

using namespace dtnn::ckks;

const CkksContext& SmallContext(int scale) {
  // One prime and two.
  static const auto one = dtnn::Must(CkksContext::Create({.log2_degree = 3, .security = 0}));
  static const auto two =
      dtnn::Must(CkksContext::Create({.log2_degree = 3, .log2_scale = 61, .security = 0}));
  return scale == 40 ? *one : *two;
}

void TryAs(const CkksContext& context, MessageKind kind, std::span<const uint8_t> bytes) {
  const auto message = MessageFromBytes(context, kind, bytes);
  if (!message.ok()) return;
  const std::vector<std::vector<uint64_t>>& p = message->polynomials;
  const std::vector<uint8_t> again =
      p.size() == 2 ? MessageToBytes(context, kind, message->number, message->seed, {p[0], p[1]})
                    : MessageToBytes(context, kind, message->number, message->seed, {p[0]});
  if (!std::ranges::equal(again, bytes)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const int scale : {40, 61}) {
    for (int kind = 1; kind <= 5; ++kind) {
      TryAs(SmallContext(scale), MessageKind(kind), {data, size});
    }
  }
  return 0;
}
