// The memory of a run as lines of a table, "  parameters                   : 1.5 MBytes", for dry
// runs and verbose ones.

#ifndef DTNN_MODELS_RUN_TABLES_MEMORY_TABLE_H_
#define DTNN_MODELS_RUN_TABLES_MEMORY_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "models/graph/graph.h"
#include "models/plan/plan_layout.h"
#include "optim/optimizers/optimizer.h"
#include "tensor/dtype.h"

namespace dtnn {

// What takes how much.
using NamedBytes = std::vector<std::pair<std::string, double>>;

// The bytes of the parameters, their gradients, and what the optimizer keeps for them. `optimizer`:
// null for a run that only tests, which has the parameters alone.
double ParameterBytes(const Graph& graph, DType dtype, const Optimizer* optimizer);

// `optimizer`: null for a run that only tests.
std::string FormatMemory(const Graph& graph, DType dtype, const PlanMemory& plan,
                         const Optimizer* optimizer);

// Only what a plan for testing takes, beside a training plan that shares the parameters.
std::string FormatPlanMemory(const PlanMemory& plan);

// What a run holds besides, and `all`, of this and all that is above.
std::string FormatOtherMemory(const NamedBytes& others, double all);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_TABLES_MEMORY_TABLE_H_
