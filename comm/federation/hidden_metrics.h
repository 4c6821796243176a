// Metrics of clients where the aggregator reads sums only. In plain they would tell it of the data
// of each client, and, of parameters that it chose, nearly whatever it asks. So they are the last
// numbers of what is summed, and their mean is read with the model's; a report has their names.
//
// Two numbers for each metric: its value and 1, or zeros where it is beyond what sums hold.

#ifndef DTNN_COMM_FEDERATION_HIDDEN_METRICS_H_
#define DTNN_COMM_FEDERATION_HIDDEN_METRICS_H_

#include <span>
#include <vector>

#include "comm/federation/agreed.h"
#include "comm/federation/messages.h"

namespace dtnn::federation {

inline constexpr size_t kMetricNumbers = 2 * kMostMetrics;

// kMetricNumbers of them, and the values that they are of become 0.
std::vector<float> HideMetrics(Metrics& metrics);

// `names`: of metrics whose values are 0. `mean`: kMetricNumbers means over the clients, weighted
// as the model is. Of a metric that not all clients have there is none.
Metrics MetricsOfMean(const Metrics& names, std::span<const float> mean);

// The same from the names that each client of a sum has; nothing of clients that have others than
// the first one: nobody can read the mean of their numbers.
Metrics MetricsOfSum(std::span<const Metrics* const> of_clients, std::span<const float> mean);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_HIDDEN_METRICS_H_
