// The clients that the attempts at one round have lost, and those that are at fault.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_LOST_CLIENTS_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_LOST_CLIENTS_H_

#include <map>
#include <set>
#include <span>
#include <string>

#include "comm/federation/aggregator/asked.h"

namespace dtnn::federation {

class LostClients {
 public:
  // A round begins.
  void Clear();
  // An attempt that asked these is over, and has `failed`. Where no more were asked than there must
  // be, a client that declines may do so because of the others: all of them count as lost, so that
  // one that spoils attempts is lost most often.
  void Count(std::span<const Asked> asked, bool failed, int min_clients);

  // Is not asked again in this round.
  bool Excludes(const std::string& name) const { return excluded_.contains(name); }
  // Attempts that it was lost in.
  int LossesOf(const std::string& name) const;

 private:
  std::set<std::string> excluded_;
  std::map<std::string, int> losses_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_LOST_CLIENTS_H_
