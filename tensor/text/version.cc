#include "tensor/text/version.h"

namespace dtnn {

std::string_view Version() { return DTNN_VERSION; }

}  // namespace dtnn
