// What became of a client that an attempt at a round has asked.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ASKED_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ASKED_H_

#include <cstdint>
#include <string>

#include "comm/federation/messages.h"

namespace dtnn::federation {

struct Asked {
  enum class State : uint8_t { kWaiting, kAccepted, kLeftOut };
  std::string name = {};
  int64_t samples = 0;
  double factor = 1;
  State state = State::kWaiting;
  // It was left out; of one whose update is in the sum, what it has done wrong besides.
  std::string why = {};
  bool at_fault = false;  // for what it sent, or that it has no update
  bool disputed = false;  // it, or one other client that has to do with it, lies
  Report report = {};     // where it has reported
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ASKED_H_
