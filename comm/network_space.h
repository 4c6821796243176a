// Which processes are on one host, as far as the network is concerned.

#ifndef DTNN_COMM_NETWORK_SPACE_H_
#define DTNN_COMM_NETWORK_SPACE_H_

#include <cstdint>

namespace dtnn {

// The same number for processes that reach each other by the loopback address.
uint64_t NetworkSpace();

}  // namespace dtnn

#endif  // DTNN_COMM_NETWORK_SPACE_H_
