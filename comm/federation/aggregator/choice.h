// Which clients an attempt at a round asks.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_CHOICE_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dtnn::federation {

struct Candidate {
  int id = 0;
  std::string name = {};
  int losses = 0;  // attempts at this round that it was lost in
};

struct ChoiceOptions {
  size_t min_clients = 1;
  double fraction = 1;   // of those that are there
  uint64_t seed = 0;     // the choice is a function of this, and of who is there
  uint64_t attempt = 0;  // and of this
};

struct Choice {
  std::vector<int> ids = {};  // in the order of names; empty: too few are there
  double sampling = 1;        // of those who could be asked, the share that is
};

// One that was lost again and again is asked only where there are too few others.
Choice ChooseClients(std::vector<Candidate> there, const ChoiceOptions& options);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_CHOICE_H_
