// Leave the function early on an error. For functions that return absl::Status or StatusOr.
//
//   DTNN_RETURN_IF_ERROR(Check(spec));
//   DTNN_ASSIGN_OR_RETURN(Tensor x, Tensor::Zeros(dtype, shape));

#ifndef DTNN_TENSOR_STATUS_MACROS_H_
#define DTNN_TENSOR_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"

#define DTNN_RETURN_IF_ERROR(expression)                                \
  do {                                                                  \
    if (absl::Status dtnn_status_ = (expression); !dtnn_status_.ok()) { \
      return dtnn_status_;                                              \
    }                                                                   \
  } while (false)

#define DTNN_ASSIGN_OR_RETURN(declaration, expression) \
  DTNN_ASSIGN_OR_RETURN_(DTNN_CONCAT_(dtnn_or_, __LINE__), declaration, expression)

#define DTNN_ASSIGN_OR_RETURN_(or_value, declaration, expression) \
  auto or_value = (expression);                                   \
  if (!or_value.ok()) return std::move(or_value).status();        \
  declaration = *std::move(or_value)

#define DTNN_CONCAT_(a, b) DTNN_CONCAT_INNER_(a, b)
#define DTNN_CONCAT_INNER_(a, b) a##b

#endif  // DTNN_TENSOR_STATUS_MACROS_H_
