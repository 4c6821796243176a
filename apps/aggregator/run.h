// The aggregator of a federation as a program: the network and what the rounds are, in options;
// each round on the disk before the next one begins.

#ifndef DTNN_APPS_AGGREGATOR_RUN_H_
#define DTNN_APPS_AGGREGATOR_RUN_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/flags/options.h"

namespace dtnn {

struct AggregatorFlags {
  Options training;  // network, encryption, files, time-out: those that the launcher has too
  // Of the network's samples and outputs; empty or 0: as the data set or the network says.
  std::vector<int64_t> input_shape = {};  // channels, height, width
  int64_t num_classes = 0;
  std::string class_names = {};  // a file of a name per line, or the folder of a data set
  std::string address = "127.0.0.1:61643";
  int64_t rounds = 10;
  int64_t min_clients = 2;
  double client_fraction = 1;
  double deadline = 600;  // seconds
  std::string strategy = "wavg";
  double proximal_mu = 0.01;
  double server_learning_rate = 0;  // 0: the strategy's own
  double server_momentum = 0.9;
  double max_update_norm = 0;  // 0: any
  std::string clients_file;    // what each client did in each round; empty: none
};

// Until all rounds are done. What is known before a client comes is checked first.
absl::Status RunAggregator(const AggregatorFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_APPS_AGGREGATOR_RUN_H_
