#include "comm/transport/relay/datagrams.h"

#include "comm/secrets/crypto/random_secret.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<uint64_t> Datagrams::DrawNumber() {
  uint64_t number = 0;
  DTNN_RETURN_IF_ERROR(FillRandom({reinterpret_cast<uint8_t*>(&number), sizeof(number)}));
  return number;
}

}  // namespace dtnn
