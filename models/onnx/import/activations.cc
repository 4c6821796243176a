// Activations that files write as several operators, and GELU, which later opsets have as one too.

#include <cmath>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>

#include "layers/activation.h"
#include "layers/merging/multiplication.h"
#include "models/onnx/import/operators.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

absl::Status ImportAs(OperatorReader& op, ActivationKind kind, const ImportedValue& input) {
  return AddElementwise(op, std::make_shared<ActivationLayer>(kind), std::span(&input, 1));
}

// Whether one input is a real number about `number`; if so, the place of the other, of which
// `state` is known.
std::optional<size_t> Beside(OperatorReader& op, double number, Unfinished state) {
  for (const size_t constant : {size_t{0}, size_t{1}}) {
    if (!op.IsConstant(constant) || op.IsConstant(1 - constant)) continue;
    const auto values = op.Constant(constant);
    const auto value = op.RawValue(1 - constant);
    if (!values.ok() || !values->real() || values->count() != 1) return std::nullopt;
    if (value.ok() && values->dims.size() > value->rank()) return std::nullopt;
    if (std::abs(double(values->reals[0]) - number) > 1e-6 * number) return std::nullopt;
    if (!value.ok() || value->unfinished != state) return std::nullopt;
    return 1 - constant;
  }
  return std::nullopt;
}

absl::Status SetStep(OperatorReader& op, size_t input, Unfinished step) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.RawValue(input));
  value.unfinished = step;
  op.SetOutput(value);
  return absl::OkStatus();
}

// The product of x and of what `steps` make of it, the first one last, which have no other readers:
// the input that is x.
std::optional<size_t> FindProduct(OperatorReader& op, const ImportedValue& a,
                                  const ImportedValue& b,
                                  std::initializer_list<std::string_view> steps) {
  const NetworkMaker& network = op.network();
  for (const bool first : {true, false}) {
    const ImportedValue &made = first ? a : b, &x = first ? b : a;
    ImportedValue at = made;
    bool found = network.IsLatest(made);
    for (const std::string_view step : steps) {
      found = found && at.node > x.node && !op.IsReadLater(at) &&
              network.LayerOf(at).type_name() == step;
      if (!found) break;
      const std::string& input = network.NameOfInput(at);
      --at.node;
      // The layer before it, or x, which layers beside these may read too.
      if (step == *std::prev(steps.end())) at.node = x.node;
      found = network.NameOf(at) == input;
    }
    if (found && at == x) return first ? 1 : 0;
  }
  return std::nullopt;
}

}  // namespace

absl::Status ImportNeg(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(ImportedValue value, op.RawValue(0));
  if (value.unfinished == Unfinished::kSoftplusOfNegated) {
    value.unfinished = Unfinished::kNothing;
    return ImportAs(op, ActivationKind::kLog, value);
  }
  DTNN_ASSIGN_OR_RETURN(value, op.Value(0));
  value.unfinished = Unfinished::kNegated;
  op.SetOutput(value);
  return absl::OkStatus();
}

absl::Status ImportSoftplus(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.RawValue(0));
  if (value.unfinished == Unfinished::kNegated) {
    return SetStep(op, 0, Unfinished::kSoftplusOfNegated);
  }
  return ImportActivation(op, ActivationKind::kSoftplus);
}

// From 15 on softplus x is x to seven digits.
absl::Status ImportGreater(OperatorReader& op) {
  constexpr float kLarge = 15;
  const auto bound = op.Constant(1);
  if (!op.IsConstant(0) && bound.ok() && bound->real() && bound->count() == 1 &&
      bound->reals[0] >= kLarge) {
    DTNN_RETURN_IF_ERROR(op.Value(0).status());
    return SetStep(op, 0, Unfinished::kIsLarge);
  }
  return Unimplemented(
      "compares values; that is read as a step of Softplus alone, which is x where x > 20, as "
      "PyTorch writes it");
}

absl::Status ImportWhereOfValues(OperatorReader& op) {
  const auto large = op.RawValue(0), x = op.RawValue(1), softplus = op.RawValue(2);
  if (large.ok() && x.ok() && softplus.ok() && large->unfinished == Unfinished::kIsLarge) {
    ImportedValue same = *large, input = *softplus;
    same.unfinished = Unfinished::kNothing;
    input.node = x->node;
    const NetworkMaker& network = op.network();
    if (same == *x && input == *x && network.LayerOf(*softplus).type_name() == "Softplus" &&
        network.NameOfInput(*softplus) == network.NameOf(*x)) {
      op.SetOutput(*softplus);
      return absl::OkStatus();
    }
  }
  return Unimplemented(
      "chooses between values of the network; that is read as the last step of Softplus alone, "
      "which is x where x > 20, as PyTorch writes it for a beta of 1");
}

absl::Status ImportGelu(OperatorReader& op) {
  if (op.Text("approximate", "none") != "none") {
    return Unimplemented(
        "approximates GELU by tanh; the layer has the exact one. Exporting the model with "
        "approximate=\"none\" changes its answers by less than 0.001");
  }
  return ImportActivation(op, ActivationKind::kGelu);
}

absl::Status ImportErf(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue value, op.RawValue(0));
  if (value.unfinished == Unfinished::kOverRootTwo) return SetStep(op, 0, Unfinished::kErf);
  return Unimplemented(
      "is read as x * (Erf(x / sqrt 2) + 1) / 2 alone, which is GELU; there is no such layer");
}

namespace {

// An image that GELU may be of, as it was before the step: not scores, queries and keys of
// attention, which are divided by such numbers too.
bool BeginsGelu(OperatorReader& op, size_t input) {
  const auto value = op.RawValue(input);
  return value.ok() && value->factor == 1 &&
         op.network().LayerOf(*value).type_name() != "ScoresBlock";
}

// x, and what was made of it, are seen alike.
bool AreOfOne(const ImportedValue& x, const ImportedValue& erf) {
  ImportedValue step = x;
  step.unfinished = erf.unfinished;
  return x.unfinished == Unfinished::kNothing && x.pads == ImagePads() && x.factor == 1 &&
         step == erf;
}

}  // namespace

absl::StatusOr<bool> ImportStepOfGelu(OperatorReader& op) {
  const auto step = [&](std::optional<size_t> input, Unfinished made) -> absl::StatusOr<bool> {
    DTNN_RETURN_IF_ERROR(SetStep(op, *input, made));
    return true;
  };
  if (op.type() == "Add") {
    const auto value = Beside(op, 1, Unfinished::kErf);
    return value ? step(value, Unfinished::kErfPlusOne) : false;
  }
  const bool divides = op.type() == "Div";
  const auto over = Beside(op, divides ? std::sqrt(2.0) : std::sqrt(0.5), Unfinished::kNothing);
  if (over && !(divides && *over == 1)) {
    if (!BeginsGelu(op, *over)) return false;
    op.TakeAnyAxes();
    DTNN_RETURN_IF_ERROR(op.Value(*over).status());  // with its pads
    return step(over, Unfinished::kOverRootTwo);
  }
  if (divides) return false;
  if (const auto value = Beside(op, 0.5, Unfinished::kTwiceGelu)) {
    DTNN_ASSIGN_OR_RETURN(ImportedValue x, op.RawValue(*value));
    x.unfinished = Unfinished::kNothing;
    DTNN_RETURN_IF_ERROR(ImportAs(op, ActivationKind::kGelu, x));
    return true;
  }
  if (const auto value = Beside(op, 0.5, Unfinished::kErfPlusOne)) {
    return step(value, Unfinished::kHalfErfPlusOne);
  }
  const auto a = op.RawValue(0), b = op.RawValue(1);
  if (!a.ok() || !b.ok()) return false;
  for (const size_t input : {size_t{0}, size_t{1}}) {
    const ImportedValue &erf = input == 0 ? *a : *b, &x = input == 0 ? *b : *a;
    if (!AreOfOne(x, erf)) continue;
    if (erf.unfinished == Unfinished::kErfPlusOne) return step(input, Unfinished::kTwiceGelu);
    if (erf.unfinished == Unfinished::kHalfErfPlusOne) {
      DTNN_RETURN_IF_ERROR(ImportAs(op, ActivationKind::kGelu, x));
      return true;
    }
  }
  return false;
}

absl::Status ImportDiv(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const bool step, ImportStepOfGelu(op));
  if (step) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const bool is_first, ImportPreprocessing(op));
  return is_first ? absl::OkStatus() : ImportArithmetic(op);
}

absl::StatusOr<bool> ImportLastProduct(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const ImportedValue a, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(const ImportedValue b, op.Value(1));
  const auto replace = [&](size_t x, int steps, ActivationKind kind) -> absl::StatusOr<bool> {
    while (steps-- > 0) op.DropLatest();
    DTNN_RETURN_IF_ERROR(ImportAs(op, kind, x == 0 ? a : b));
    return true;
  };
  if (const auto x = FindProduct(op, a, b, {"Sigmoid"})) {
    return replace(*x, 1, ActivationKind::kSilu);
  }
  if (const auto x = FindProduct(op, a, b, {"Tanh", "Softplus"})) {
    return replace(*x, 2, ActivationKind::kMish);
  }
  return false;
}

absl::Status ImportMul(OperatorReader& op) {
  DTNN_ASSIGN_OR_RETURN(const bool step, ImportStepOfGelu(op));
  if (step) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const bool is_first, ImportPreprocessing(op));
  if (is_first) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const bool is_gamma, ImportGammaOrBeta(op));
  if (is_gamma) return absl::OkStatus();
  if (op.IsConstant(0) != op.IsConstant(1) && IsScaleOfChannels(op)) {
    const size_t constant = op.IsConstant(0) ? 0 : 1;
    const bool factor = op.Constant(constant)->count() == 1 && AreLatestScores(op, 1 - constant);
    return factor ? ImportFactorOfAxes(op) : ImportScaleOfChannels(op);
  }
  if (op.IsConstant(0) || op.IsConstant(1)) return ImportArithmetic(op);
  DTNN_ASSIGN_OR_RETURN(const ImportedValue a, op.Value(0));
  DTNN_ASSIGN_OR_RETURN(const ImportedValue b, op.Value(1));
  DTNN_ASSIGN_OR_RETURN(const bool last, ImportLastProduct(op));
  if (last) return absl::OkStatus();
  if (a.channels_last != b.channels_last) {
    return Unimplemented("multiplies values with channels first and last");
  }
  // The factors have one pixel.
  const bool first = a.image() && a.shape[1] * a.shape[2] == 1;
  const ImportedValue inputs[] = {first ? b : a, first ? a : b};
  return AddElementwise(op, std::make_shared<MultiplicationLayer>(), inputs);
}

}  // namespace dtnn
