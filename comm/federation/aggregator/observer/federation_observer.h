// What happens in a federation, as its aggregator sees it, for those who watch it (metrics, a
// page). Called on the aggregator's thread, between other things: an observer returns at once.
// Names are what clients say (IsName, comm/federation/messages.cc); where they prove them, the
// list's. Names of metrics and reasons may be any text.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_OBSERVER_FEDERATION_OBSERVER_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_OBSERVER_FEDERATION_OBSERVER_H_

#include <cstdint>
#include <span>
#include <string>

#include "comm/federation/aggregator/asked.h"

namespace dtnn::federation {

class FederationObserver {
 public:
  virtual ~FederationObserver() = default;

  // A client has come, or it is no longer there.
  virtual void OnClient(const std::string& /*name*/, int64_t /*samples*/) {}
  virtual void OnGone(const std::string& /*name*/) {}
  // A caller was refused, whether it has a name or not.
  virtual void OnRefusal() {}
  // A client is sent away, because the list of those that may take part has changed.
  virtual void OnRevoked(const std::string& /*name*/) {}
  // An update came after its round was over, and was dropped.
  virtual void OnLate(const std::string& /*name*/) {}

  // An attempt at a round, from 1: the clients that are asked, and then, by OnAttemptEnd, what
  // became of them.
  virtual void OnAttempt(int64_t /*round*/, std::span<const Asked> /*asked*/) {}
  // In place of OnAttempt with a buffer: a client is asked, and its turn ends, in whatever round.
  // OnAttemptEnd comes at the end of a round, with the clients whose turns have ended in it.
  virtual void OnAsk(const std::string& /*name*/) {}
  virtual void OnAskEnd(const std::string& /*name*/) {}
  // A step of an attempt is done: clients have sent what the aggregator waited for, or enough of
  // it by the deadline. Not called for the step in which an attempt fails.
  enum class Step : uint8_t { kSetUp, kUpdates, kFinish };
  virtual void OnStepEnd(Step /*step*/, double /*seconds*/) {}
  virtual void OnAttemptEnd(std::span<const Asked> /*asked*/, bool /*good*/) {}

  // About once a second while the aggregator is not busy with other things: bytes sent and received
  // so far.
  virtual void OnTurn(uint64_t /*sent*/, uint64_t /*received*/) {}
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_OBSERVER_FEDERATION_OBSERVER_H_
