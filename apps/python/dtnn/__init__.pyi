# Made by make_stub.py from the package and the table of options: change those.

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

__version__: str


class Callback:
    """What is called during Run.fit(). Derive from it, and override what you want.

    An exception ends the run, and fit() raises it. While one is called, the run can be asked for
    parameters, history, options and learning rate, saved and stopped.
    """

    @property
    def run(self) -> Run:
        """The run that calls; None outside of Run.fit()."""
        ...

    def on_epoch_begin(self, epoch: int) -> None:
        """Before an epoch; epochs count from 0."""
        ...

    def on_batch_end(self, batch: int, metrics: dict[str, float]) -> None:
        """After a batch, with the means of the epoch so far; batches count from 1."""
        ...

    def on_epoch_end(self, epoch: int, metrics: dict[str, float]) -> None:
        """After an epoch and its validation, whose metrics begin with val_."""
        ...


class Dataset:
    """Samples and targets, in a training and a test split."""

    def __init__(self, core: Any, format: str = 'NHWC') -> None:
        ...

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def sample(self) -> tuple[int, int, int]:
        """Height, width and channels of a sample."""
        ...

    @property
    def outputs(self) -> int:
        """How many classes there are, or values per sample."""
        ...

    @property
    def class_names(self) -> list[str]:
        """The names of the outputs; empty if not known."""
        ...

    @property
    def train_size(self) -> int:
        """Samples of the training split."""
        ...

    @property
    def test_size(self) -> int:
        """Samples of the test split."""
        ...


class Network:
    """Layers, one call each, in the order in which samples pass through them.

    dtnn.Network("mine").conv2d(8, padding=1).relu().max_pool2d().flatten().fc(10).softmax()

    Without input() a network takes the samples of the data set that it is trained on. Mistakes are
    found when a run is made, and named by layer. A Network without input() is also a path of
    add(), concat() and multiply().
    """

    def __init__(self, name: str = 'network') -> None:
        ...

    @property
    def name(self) -> str:
        """The name, which files of the model have."""
        ...

    def input(self, height: int, width: int, channels: int) -> Network:
        """What the network takes; comes first."""
        ...

    def conv2d(
        self,
        filters: int,
        kernel: int | tuple[int, int] = 3,
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        bias: bool = True,
        grouping: str = 'standard',
        initializer: str = 'glorot_uniform',
        groups: int = 1,
    ) -> Network:
        """A convolution. grouping: "standard", "depthwise" or "pointwise"; groups of a standard one:
        a filter reads the channels of its group alone.
        """
        ...

    def transposed_conv2d(
        self,
        filters: int,
        kernel: int | tuple[int, int] = 3,
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        output_padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        bias: bool = True,
        initializer: str = 'glorot_uniform',
        groups: int = 1,
    ) -> Network:
        """A transposed convolution, as PyTorch's ConvTranspose2d: images made larger."""
        ...

    def fc(self, outputs: int, *, bias: bool = True, initializer: str = 'glorot_uniform') -> Network:
        """A fully connected layer."""
        ...

    def max_pool2d(
        self,
        window: int | tuple[int, int] = 2,
        *,
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
    ) -> Network:
        """The largest value of each window.

        Windows are side by side unless stride says otherwise; window 0 is the whole image.
        """
        ...

    def average_pool2d(
        self,
        window: int | tuple[int, int] = 2,
        *,
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        count_padding: bool = False,
    ) -> Network:
        """The mean of each window; window and stride as in max_pool2d.

        count_padding: padding counts, as zeros. That is the default of PyTorch.
        """
        ...

    def adaptive_average_pool2d(self, output: int | tuple[int, int] = 1) -> Network:
        """Means over windows such that images of this size result."""
        ...

    def upsample2d(
        self,
        scale: int | tuple[int, int] = 2,
        mode: str = 'nearest',
        align_corners: bool = False,
    ) -> Network:
        """Images made larger by whole factors; mode: nearest or bilinear, as in PyTorch."""
        ...

    def pad2d(
        self,
        before: int | tuple[int, int] = 0,
        after: int | tuple[int, int] = 0,
        *,
        mode: str = 'constant',
        value: float = 0.0,
    ) -> Network:
        """More rows and columns around images: before, at the top and the left, and after.

        mode: "constant", of a value, "reflect", mirrored, or "edge".
        """
        ...

    def slice2d(
        self,
        begin: int | tuple[int, int] = 0,
        count: int | tuple[int, int] = 0,
        step: int | tuple[int, int] = 1,
    ) -> Network:
        """Some rows and columns: count of them, or all that are left, from begin on, step apart.

        slice2d(1, step=2) is x[1::2, 1::2].
        """
        ...

    def channel_shuffle(self, groups: int) -> Network:
        """Channels dealt from groups that lie one after the other, as in PyTorch."""
        ...

    def channel_slice(self, begin: int, count: int) -> Network:
        """Some of the channels: count of them, from channel begin on."""
        ...

    def scale(self, factor: float) -> Network:
        """The image times one number, which training does not change."""
        ...

    def class_token(self) -> Network:
        """A learned pixel before those of the image, which stand in one row from then on."""
        ...

    def position_embedding(self) -> Network:
        """A learned number for each element of the image, added to it."""
        ...

    def pixel_slice(self, begin: int, count: int) -> Network:
        """Some of the pixels: count of them, from pixel begin on, counted row by row."""
        ...

    def batch_norm(self, *, momentum: float = 0.9, epsilon: float = 1e-05) -> Network:
        """Batch normalisation; running = momentum * running + (1 - momentum) * batch."""
        ...

    def group_norm(
        self,
        groups: int = 1,
        *,
        per_pixel: bool = False,
        epsilon: float = 1e-05,
    ) -> Network:
        """Normalisation of each sample by itself, in groups of channels; per_pixel: of each pixel
        by itself, as LayerNorm over channels.
        """
        ...

    def dropout(self, rate: float) -> Network:
        """Zeros a fraction of the values in training."""
        ...

    def flatten(self) -> Network:
        """Images to vectors."""
        ...

    def activation(
        self,
        kind: str,
        *,
        slope: float | None = None,
        alpha: float | None = None,
        low: float | None = None,
        high: float | None = None,
    ) -> Network:
        """One of relu, sigmoid, tanh, leaky_relu, relu6, arctanh, log, hard_sigmoid, silu,
        gelu, hard_swish, elu, clip, softplus, mish.

        slope: of leaky_relu, below 0; else 0.01. alpha: of elu; else 1. low, high: of clip; else
        -1 and 1.
        """
        ...

    def prelu(self, per_channel: bool = True) -> Network:
        """A relu whose slope below 0 is trained: one for each channel or feature, or one for
        all.
        """
        ...

    def relu(self) -> Network:
        """max(x, 0)."""
        ...

    def sigmoid(self) -> Network:
        """1 / (1 + exp(-x))."""
        ...

    def softmax(self) -> Network:
        """Probabilities of classes."""
        ...

    def add(self, *paths: Network) -> Network:
        """The sum of what the paths make of the same values; Network() is the identity."""
        ...

    def concat(self, *paths: Network) -> Network:
        """What the paths make of the same values, side by side as channels."""
        ...

    def multiply(self, image: Network, factors: Network) -> Network:
        """The image times a factor for each of its channels, which the other path makes as one
        pixel: squeeze-and-excitation.
        """
        ...

    def scores(
        self,
        queries: Network,
        keys: Network,
        *,
        heads: int = 1,
        factor: float = 1.0,
    ) -> Network:
        """How alike each pixel of the queries is to each pixel of the keys: factor times the sum
        over channels of their products, as a channel for each pixel of the keys. Each head has a
        group of the channels, and a group of the results.
        """
        ...

    def group_softmax(self, groups: int = 1) -> Network:
        """The softmax over each group of channels, of each pixel by itself: scores to weights."""
        ...

    def weighted_sum(self, weights: Network, values: Network, *, heads: int = 1) -> Network:
        """For each pixel the sum of the values of all pixels, times its weights for them, which are
        channels. Each head has a group of the weights, and a group of the values.
        """
        ...

    def self_attention(
        self,
        heads: int = 1,
        *,
        key_channels: int = 0,
        value_channels: int = 0,
        factor: float = 0.0,
        bias: bool = True,
    ) -> Network:
        """The image, and what each of its pixels gathers from all of them, added.

        Without numbers of their own, keys and values have the channels of the image, and scores
        the factor 1 / sqrt(channels of a head).
        """
        ...

    def describe(self) -> str:
        """A table of the layers; the network begins with input()."""
        ...


class Predictor:
    """A trained model, made by load().

    Threads may share it: it computes one batch at a time, on all cores, and without the GIL.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        *,
        batch_size: int = 32,
        math_mode: Literal['fp32', 'bf16', 'int8'] = 'fp32',
    ) -> None:
        ...

    @property
    def name(self) -> str:
        """The name of the network."""
        ...

    @property
    def format(self) -> str:
        """The order of a sample's axes: "NHWC" or "NCHW"."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """The type of values that the network computes with."""
        ...

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        ...

    @property
    def classes(self) -> list[str]:
        """The name of each output; its number where it has none."""
        ...

    @property
    def kind(self) -> str:
        """What outputs are: probabilities of "classes" that exclude each other, of "labels" that are each true or false, or other "values"."""
        ...

    @property
    def num_parameters(self) -> int:
        """How many parameters the network has."""
        ...

    @property
    def training(self) -> dict[str, Any]:
        """How the model was trained: data set, epochs, loss, optimizer, metrics."""
        ...

    def describe(self) -> str:
        """A table of the layers."""
        ...

    def predict(self, x: Any, *, format: str | None = None) -> np.ndarray:
        """The outputs for each sample, an array of (samples, outputs).

        x: names of image files (JPEG, PNG); or uint8, (n, height, width, channels) images of any
        size; or float32 or float64, (n, sample) values as training had them, before a
        normalisation, in the order `format` ("NHWC", "NCHW"; the network's own if not given).
        Images of one channel may lack that axis. Files and uint8 images become grey or red, green,
        blue, as the network takes them; alpha, the last of 2 or 4 channels, is dropped.
        """
        ...

    def classify(self, x: Any, *, top: int | None = None, format: str | None = None) -> list[Any]:
        """For each sample its likeliest class, as (name, probability); x as in predict().

        top: a list of so many, the likeliest first; 1: one without a list. A network of labels
        (see `kind`) without top gives a list of those that are more likely than not. One of values,
        such as a network without a softmax at its end, gives a list of all, as (name, value), in
        their order.
        """
        ...


class Run:
    """One training, and the model that it makes.

    model: the name of a network (dtnn.models()) or a Network. dataset: the name of a data set
    (dtnn.datasets()), Arrays, or another Dataset. callbacks: objects of Callback, or functions
    that are called after each epoch with its number and its metrics. log: a function that
    receives what the program `benchmark` prints. stop_on_signal: Ctrl-C and SIGTERM end fit()
    after the current step, with a checkpoint. Everything that can be wrong is found now.

    All other arguments are options; None means that an option is not set. They are those of
    the program `benchmark`, with underscores:

    Model and run:
      model: str = None
          network to build; dtnn.models() shows all
      batch_size: int = None
          samples per step and rank; 64 if no batch size is given
      global_batch_size: int = None
          samples per step over all ranks, instead of batch_size
      dtype: Literal['float32', 'float64'] = float32
          number type of parameters and activations
      math_mode: Literal['fp32', 'tf32', 'bf16', 'fp16'] = fp32
          number types to compute with; CPUs have fp32 and bf16
      num_epochs: int = 1
          passes over the training data
      steps_per_epoch: float = 0
          train on only this many batches per epoch, rounded up; 0: on all data
      evaluate: bool = False
          evaluate on the test split before and after training
      evaluate_only: bool = False
          evaluate on the test split and do not train
      weights_and_bias_filename: str | os.PathLike = None
          start from the weights in this file: .npz, .safetensors or a checkpoint
      weights_format: Literal['auto', 'NHWC', 'NCHW'] = auto
          layout of a weights file that does not state it
      weights_partial: bool = False
          load those parameters of a weights file that fit; the others keep their initial values
      freeze: str = None
          layers whose parameters stay fixed: a list of ids, ranges of ids and names with wildcards
      save_model: str | os.PathLike = None
          write the trained model to this file, with all that predict needs: .safetensors or .npz
      history_file: str | os.PathLike = None
          write loss and metrics of every epoch to this file (a new run replaces it): text, .csv or .jsonl
      checkpoint_dir: str | os.PathLike = None
          save the state of the run in this folder, for resume
      checkpoint_freq: int = 1
          epochs from one checkpoint to the next
      checkpoint_steps: int = 0
          within an epoch, batches from one checkpoint to the next; 0: none
      resume: bool | Literal['False', 'True', 'if-there'] = False
          continue from the newest checkpoint in checkpoint_dir
      tensor_format: Literal['AUTO', 'NHWC', 'NCHW'] = AUTO
          order of image axes in memory
      random_seed: int = 57005
          seed of all random numbers; the same seed gives the same run

    Synchronisation of ranks:
      shared_storage: bool = True
          ranks share one data set, and rank 0 writes files; False: each rank has its own data and files
      model_sync_freq: int = 0
          batches between averages of the ranks' models; 0: sum gradients in every batch; negative: never average
      model_sync_alg: Literal['avg', 'wavg', 'invwavg'] = avg
          how much each rank counts in an average of models
      model_sync_participation: Literal['all', 'avail2all'] = all
          ranks whose models are averaged
      model_sync_min_avail: int = 0
          skip an average of models when fewer ranks than this still have data
      initial_model_sync: bool = True
          all ranks start from the parameters of rank 0
      final_model_sync: bool = True
          average the models of the ranks after training
      sync_batch_norm: bool = False
          normalise batches over the samples of all ranks, not of each rank alone

    Data set:
      dataset: Literal['mnist', 'cifar10', 'imagenet', 'chestxray', 'cyclone', 'tsunamis', 'archive', 'folder', 'masks', 'synthetic'] = None
          data to train and test on; dtnn.datasets() shows all
      dataset_path: str | os.PathLike = None
          folder or archive of the data set; mnist without it: Debian's Fashion-MNIST
      dataset_train_path: str | os.PathLike = None
          folder or archive of the training split, if it is not that of dataset_path
      dataset_test_path: str | os.PathLike = None
          folder or archive of the test split, if it is not that of dataset_path
      skip_damaged_images: bool = False
          skip damaged images, instead of ending the run at the first one; the start then reads and decodes all images once
      archive_format: Literal['auto', 'NCHW', 'NHWC'] = auto
          order of the image axes in dataset=archive
      dataset_lang: str = en
          language of a text data set; data sets of images ignore it
      dataset_lang2: str = de
          second language of a text data set; data sets of images ignore it
      synthetic_train_samples: int = 1000
          number of training samples of dataset=synthetic
      synthetic_test_samples: int = 100
          number of test samples of dataset=synthetic
      synthetic_input_shape: Sequence[int] = 3,32,32
          size of a sample of dataset=synthetic
      synthetic_output_shape: int | Sequence[int] = 10
          number of classes of dataset=synthetic
      synthetic_pattern: Literal['zeros', 'classes'] = zeros
          contents of the generated samples
      dataset_percentage: float = 0
          fraction of the samples to use, of training, validation and test data each; 0.1: a tenth; 2: all data twice; 0: all data once
      dataset_part: str = None
          train on one of several equal parts of the training samples: 2/4 is the second of four; 2/4@dirichlet:0.3, @labels:2, @sizes:1 or @file:FILE: of parts divided so. Which samples it has does not depend on random_seed
      test_as_validation: bool = False
          validate on the test split, and train on all training data
      validation_split: float = 0.2
          fraction of the training data, and of every class in it, that is held out for validation
      augment_shuffle: bool = True
          shuffle the training data in every epoch
      augment: str = None
          random changes to training images, in this order; augment=list explains them
      mixup: float = 0
          mix each training image and its target with another's, in random proportions from the distribution Beta(ALPHA, ALPHA); 0: off
      augment_flip: bool = False
          mirror training images left to right, at random
      augment_flip_prob: float = 0.5
          probability with which augment_flip mirrors an image
      augment_crop: bool = False
          keep a random window of training images, moved to a random place
      augment_crop_size: int = 16
          side of the window that augment_crop keeps
      augment_crop_prob: float = 0.5
          probability with which augment_crop crops an image
      transform_square: bool = False
          keep only the largest square in the middle of every image
      transform_crop: bool = False
          keep only the centre of every image
      transform_crop_perc: float = 0.875
          fraction of each side that transform_crop keeps
      transform_resize: bool = False
          resize every image to a square
      transform_resize_size: int = 300
          side of the square of transform_resize
      normalize: bool = False
          replace every value x of a sample by (x + normalize_offset) * normalize_scale
      normalize_offset: float | Sequence[float] = -0.45
          number that normalize adds, or one per channel; pixels are 0 to 1
      normalize_scale: float | Sequence[float] = 3.75
          number that normalize then multiplies by, or one per channel
      standardize: bool = False
          replace every value x by (x - mean) / deviation of its channel over the training samples, without those of validation_split
      use_synthetic_data: bool = False
          use generated samples in the shape of dataset; no files are read
      loader_threads: int = 0
          threads that prefetch samples; 0: as many as the data set needs

    Optimisation:
      enable_best_of: bool = False
          time the algorithms of every convolution before the first step, and run the fastest
      enable_memory_cache: bool = True
          keep the layers' scratch memory between steps; False: allocate it in each call, to show what that costs
      enable_fused_bn_relu: bool = True
          in evaluation, compute batch normalisation and relu in one pass
      enable_fused_conv_relu: bool = True
          in evaluation, compute convolution and relu in one pass
      enable_fused_conv_bn: bool = True
          in evaluation, compute convolution and batch normalisation in one pass; on GPUs, of NHWC images
      enable_fused_conv_bn_relu: bool = True
          in evaluation, compute convolution, batch normalisation and relu in one pass; on GPUs, of NHWC images

    Convolution:
      conv_variant: Literal['auto', 'i2c', 'gemm', 'direct', 'depthwise', 'winograd', 'dot', 'amx'] = auto
          algorithm of convolutions on CPUs; convolutions that it cannot compute use another
      best_of_file: str | os.PathLike = None
          file in which enable_best_of, and on GPUs enable_cudnn_auto_conv_alg, keeps its decisions: read if it exists, then written; by rank 0 only
      conv_direct_method: Literal['planar', 'convdirect_original_nhwc_default', 'convdirect_im2row_nhwc_default', 'convdirect_conv_gemm_nhwc_default', 'convdirect_block_blis_nhwc_blis', 'convdirect_block_blis_nhwc_8x12', 'convdirect_block_blis_nhwc_4x20', 'convdirect_block_shalom_nhwc_7x12_npa_u4', 'convdirect_tzemeng_nhwc_7x12_u4'] = None
          kernel that conv_variant=direct runs; conv_direct_method=list explains them
      conv_direct_methods_for_best_of: Literal['planar', 'convdirect_original_nhwc_default', 'convdirect_im2row_nhwc_default', 'convdirect_conv_gemm_nhwc_default', 'convdirect_block_blis_nhwc_blis', 'convdirect_block_blis_nhwc_8x12', 'convdirect_block_blis_nhwc_4x20', 'convdirect_block_shalom_nhwc_7x12_npa_u4', 'convdirect_tzemeng_nhwc_7x12_u4'] | Sequence[Literal['planar', 'convdirect_original_nhwc_default', 'convdirect_im2row_nhwc_default', 'convdirect_conv_gemm_nhwc_default', 'convdirect_block_blis_nhwc_blis', 'convdirect_block_blis_nhwc_8x12', 'convdirect_block_blis_nhwc_4x20', 'convdirect_block_shalom_nhwc_7x12_npa_u4', 'convdirect_tzemeng_nhwc_7x12_u4']] = 
          names of conv_direct_method under which enable_best_of reports and saves algorithms, the first where several mean the same; all algorithms are timed in any case

    Optimizer, loss and metrics:
      optimizer: Literal['sgd', 'rmsprop', 'adam', 'nadam', 'adamw', 'oktopk'] = sgd
          rule that updates the parameters
      learning_rate: float = 0.01
          step size of the optimizer
      find_learning_rate: bool = False
          before training, find the learning rate: steps with growing rates on a copy of the network, then a tenth of the rate with the least loss
      learning_rate_scaling: bool | Literal['False', 'True', 'divide', 'multiply'] = False
          divide or multiply the learning rate by the number of ranks; True: divide
      optimizer_momentum: float = 0.9
          sgd, oktopk: momentum, the fraction of the previous step that is added to the next
      optimizer_decay: float = 0
          weight decay: each step subtracts this fraction of every weight, times the learning rate
      optimizer_decay_all: bool = True
          decay biases and batch normalisation parameters too, not only weights
      optimizer_nesterov: bool = False
          sgd, oktopk: Nesterov's form of momentum
      optimizer_beta1: float = 0.99
          adam, nadam, adamw: decay rate of the running mean of gradients; the usual 0.9 often learns better than the 0.99 of adam and nadam
      optimizer_beta2: float = 0.999
          adam, nadam, adamw: decay rate of the running mean of squared gradients
      optimizer_epsilon: float = 1e-07
          rmsprop, adam, nadam, adamw: number that prevents a division by zero
      optimizer_rho: float = 0.9
          rmsprop: decay rate of the running mean of squared gradients
      optimizer_density: float = 0.01
          oktopk: fraction of the gradients that a step applies; the rest waits for later steps
      optimizer_tau: int = 64
          oktopk: steps after which the ranks divide the summing anew
      optimizer_tau_prime: int = 32
          oktopk: steps after which the threshold for gradients is computed exactly
      ema: float = 0
          keep an exponential moving average of the parameters with this decay per step; validation, tests, schedulers and files take it instead of the parameters; 0: off
      clip_norm: float = 0
          largest Euclidean norm of a gradient; a longer one is scaled down to it; 0: off
      dp_sgd_clip: float = 0
          differential privacy for each sample: longest gradient of one, as Euclidean norm; longer ones are shortened to it. 0: none. For whole clients of a federation there is dp_clip
      dp_sgd_noise: float = 0
          differential privacy for each sample: deviation of the noise over dp_sgd_clip, in the sum of the gradients of a step
      dp_sgd_delta: float = 1e-05
          differential privacy for each sample: the delta for which epsilon is reported
      accumulate_steps: int = 1
          batches whose gradients are added up for one update
      loss_func: Literal['categorical_cross_entropy', 'binary_cross_entropy', 'mse', 'mae', 'categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report'] | Sequence[Literal['categorical_cross_entropy', 'binary_cross_entropy', 'mse', 'mae', 'categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report']] = categorical_cross_entropy
          loss to minimise: categorical_cross_entropy, binary_cross_entropy, mse or mae; metrics may be listed after it
      label_smoothing: float = 0
          fraction of the target that categorical_cross_entropy spreads over all classes, and binary_cross_entropy over both answers
      class_weights: str = None
          how much a sample of each class counts in training with categorical_cross_entropy: balanced (each class as a whole as much as the others), or a number for each class, from the first on, or a file whose name ends in .txt with a number, or a class and a number, in each line
      metrics: Literal['categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report'] | Sequence[Literal['categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report']] = categorical_accuracy
          metrics to compute besides the loss; accuracy means categorical_accuracy; if not given, those that suit the data; any of: categorical_accuracy, top5_accuracy, categorical_hinge, categorical_mse, categorical_mae, regression_mse, regression_mae, binary_accuracy, binary_confusion_matrix, multiclass_confusion_matrix, precision, recall, f1_score, mean_iou, per_class_report

    Learning-rate schedulers:
      schedulers: Literal['warm_up', 'early_stopping', 'reduce_lr_on_plateau', 'reduce_lr_every_nepochs', 'model_checkpoint', 'stop_at_loss', 'cosine', 'polynomial', 'one_cycle'] | Sequence[Literal['warm_up', 'early_stopping', 'reduce_lr_on_plateau', 'reduce_lr_every_nepochs', 'model_checkpoint', 'stop_at_loss', 'cosine', 'polynomial', 'one_cycle']] = early_stopping,reduce_lr_on_plateau,model_checkpoint
          rules that change the learning rate, end the run or save, applied in this order; if not given, model_checkpoint only with model_dir; schedulers= turns all off; any of: warm_up, early_stopping, reduce_lr_on_plateau, reduce_lr_every_nepochs, model_checkpoint, stop_at_loss, cosine, polynomial, one_cycle
      model_dir: str | os.PathLike = None
          folder in which the scheduler model_checkpoint saves parameters; if only schedulers asks for that scheduler, the current folder
      warm_up_batches: int = None
          warm_up: batches until the full learning rate, instead of warm_up_epochs
      warm_up_epochs: int = 5
          warm_up: epochs until the full learning rate
      early_stopping_metric: str = val_categorical_cross_entropy
          early_stopping: metric that must improve
      early_stopping_patience: int = 10
          early_stopping: epochs without improvement that end the run
      early_stopping_minimize: bool = True
          early_stopping: smaller is better; if not given, as the metric says
      early_stopping_min_delta: float = 0
          early_stopping: a change of the metric up to this is not an improvement
      reduce_lr_on_plateau_metric: str = val_categorical_cross_entropy
          reduce_lr_on_plateau: metric that must improve
      reduce_lr_on_plateau_factor: float = 0.1
          reduce_lr_on_plateau: number that the learning rate is multiplied by
      reduce_lr_on_plateau_patience: int = 5
          reduce_lr_on_plateau: epochs without improvement before a reduction
      reduce_lr_on_plateau_min_lr: float = 0
          reduce_lr_on_plateau: reductions below this learning rate are skipped
      reduce_lr_every_nepochs_factor: float = 0.1
          reduce_lr_every_nepochs: number that the learning rate is multiplied by
      reduce_lr_every_nepochs_nepochs: int = 5
          reduce_lr_every_nepochs: epochs from one reduction to the next
      reduce_lr_every_nepochs_min_lr: float = 0
          reduce_lr_every_nepochs: reductions below this learning rate are skipped
      stop_at_loss_metric: str = val_categorical_accuracy
          stop_at_loss: metric that is compared with the threshold
      stop_at_loss_threshold: float = 0
          stop_at_loss: value of the metric that ends the run; accuracies are in per cent
      model_checkpoint_metric: str = val_categorical_cross_entropy
          model_checkpoint: metric that decides which parameters are the best
      model_checkpoint_save_freq: int = 2
          model_checkpoint: epochs from one save to the next
      cosine_min_lr: float = 0
          cosine: learning rate at the end of the run, or of a cycle
      cosine_restart_epochs: int = 0
          cosine: epochs of the first cycle, after which the rate starts again; 0: one cycle over the run
      cosine_restart_growth: int = 1
          cosine: how many times as long each cycle is as the one before
      polynomial_power: float = 1
          polynomial: power of the share of the run that is left; 1 is a straight line
      polynomial_min_lr: float = 0
          polynomial: learning rate at the end of the run

    Parallel and devices:
      parallel: Literal['sequential', 'data', 'federated'] = sequential
          data: with other ranks; federated: as a client
      server: str = 127.0.0.1:61643
          where the aggregator of the federation listens, or, with mqtt, the broker
      client_name: str = None
          name of this client in the federation, the same when it joins again; if not given, the host's name and dataset_part
      client_labels: str = None
          what this client says of itself: labels by which the aggregator may choose whom it asks
      identity_key_file: str | os.PathLike = None
          file with the private key by which this client proves its name to the aggregator, as make_certificates writes it; another key there counts from the next connection on
      aggregator_key: str = None
          public key that the aggregator must prove to have, in base64; empty: any process that knows the job's secret is believed
      local_parameters: str = None
          parameters that stay with each client, neither sent nor received: patterns of their keys, separated by commas; the same for the aggregator and all clients
      transport: Literal['auto', 'mpi', 'tcp', 'grpc', 'mqtt'] = auto
          transport of the messages between ranks, or between a client and the aggregator
      rendezvous: str = None
          where rank 0 listens for the others, or, with mqtt, the broker; empty: PYMPI_ADDR and PYMPI_PORT
      elastic: str = None
          continue when ranks are lost, and accept new ones, while there are MIN to MAX ranks; with transport=tcp
      use_blocking_mpi: bool = True
          exchange gradients after the backward pass; False: during it, which is faster
      use_mpi_buffers: bool | Literal['False', 'True'] = None
          let MPI add the gradients; False: each rank adds them itself, in the order of ranks
      gradient_compression: Literal['none', 'fp16', 'bf16'] = none
          numbers that gradients are exchanged in; they are added up in float32
      comm_bucket_mb: str = auto
          size of the buckets in which gradients are exchanged; auto: chosen by timing the first steps
      comm_timeout: float = 300
          how long a rank waits for the others, or a client for the aggregator, before it gives up
      enable_gpu: bool = False
          compute on an NVIDIA GPU
      gpu_device: Literal['cuda', 'simulated'] = cuda
          GPU that enable_gpu computes on
      enable_gpudirect: bool = False
          let MPI read and write GPU memory; refused, since gradients go to MPI through pinned memory of the host
      enable_nccl: bool = False
          sum gradients on the GPUs, by NCCL, instead of in the hosts' memory
      enable_cuda_graphs: bool = True
          capture a training step as a CUDA graph, and replay it; where that is not possible, the run says so and continues without
      enable_cudnn_auto_conv_alg: bool = False
          time cuDNN's algorithms for every convolution before the first step, and run the fastest, which takes up to a minute for a large network; False: cuDNN guesses, and gives the same bits in every run
      cudnn_plans: str | os.PathLike = None
          folder in which cuDNN's plans are kept from run to run, for each kind of GPU and version; made if it is missing

    Encryption:
      encryption: Literal['masked', 'tenseal', 'openfhe'] = None
          how clients of a federation hide their updates from the aggregator; tenseal also hides the gradients and models of ranks from the server or broker that carries them
      encryption_poly_degree: int = 13
          base-2 logarithm of the ring dimension
      encryption_global_scale: int = 40
          base-2 logarithm of the scale; openfhe without this option: 61, because of the noise that protects its keys
      encryption_security_level: Literal['0', '128', '192', '256'] = 128
          bits of security
      encryption_key_file: str | os.PathLike = None
          file with the key that all clients share and the aggregator must not have, or that all ranks share: at least 32 random characters, readable by its owner only; masked, openfhe: an aggregator without it cannot pose as the other clients
      plain_metrics: bool = False
          send this client's metrics to the aggregator unencrypted, though it cannot read the model; False: not at all. With masked and openfhe it reads the clients' mean only
      mask_neighbours: int = 0
          number of other clients with which each client shares its masks, drawn at random by all; at least this number, and as many as are enough for the clients of a round: of 1000 clients 182. It allows rounds of 1024 clients, and protects from an aggregator with fewer helpers among the clients. 0: all others, of 255 clients at most
      least_clients: float = 1.5
          send an update only if the sum hides it at least as well as this number of clients with equal weights would: by (sum of weights)^2 / sum of their squares
      dp_clip: float = 0
          differential privacy: longest update of a client, as Euclidean norm; longer ones are shortened to it. 0: none. For single samples of other runs there is dp_sgd_clip
      dp_noise: float = 0
          differential privacy: deviation of the noise over dp_clip, in each update, or with encryption in each sum of them
      dp_delta: float = 1e-05
          differential privacy: the delta for which epsilon is reported
      dp_quantile: float = 0
          differential privacy: the clip begins with dp_clip and follows this quantile of the lengths of updates from round to round: 0.5 shortens half of them. 0: it stays
      dp_clip_rate: float = 0.2
          dp_quantile: how fast the clip follows: a round in which all updates are shorter makes it smaller by the factor e^-(rate (1 - quantile))
      dp_bit_noise: float = 0
          dp_quantile: deviation of the noise of the number of updates that are shorter than the clip, in each update, or with encryption in each sum of them; 0: twice dp_noise

    Tracing and profiling:
      tracing: bool = False
          record a trace of the run; tracer_output alone does so too
      tracer_output: str = None
          file of the trace: .json for ui.perfetto.dev and chrome://tracing or .prv for Paraver, with all that each rank did; .csv, .txt, .trc or no ending for calls, total and median time of each layer, on rank 0, or, with {rank} in the name, in a file for each rank
      tracer_pmlib_server: str = 127.0.0.1
          host of the PMlib server that reads the power meter
      tracer_pmlib_port: int = 6526
          TCP port of the PMlib server
      tracer_pmlib_device: str = None
          power meter that energy asks, as its PMlib server calls it, instead of the machine's counters
      profile: str = False
          print where the time of training went, by layer and by activity, and how close that is to the machine's limits; a file that ends in .json or .csv gets the same as data
      report: str | os.PathLike = None
          after each epoch, write a page on the run to this file: curves, where time and memory go, what the network gets wrong; .html
      energy: bool = False
          measure the energy that the machine uses, per epoch and per sample, where it has counters
      tensorboard_dir: str | os.PathLike = None
          after each epoch, write curves and histograms to event files for TensorBoard in this folder

    Cost model and others:
      force: bool = False
          run even if the network needs more memory than is free
      quiet: bool = False
          print results and warnings only
      verbose: bool | Literal['False', 'True', 'dispatch'] = False
          also print what was chosen and why
      cpu_speed: float = 0
          floating-point operations per second, for the step time that profile predicts; 0: as measured
      memory_bw: float = 0
          bytes of memory copied per second, for the step time that profile predicts; 0: as measured
      network_bw: float = 1000000000
          bytes per second of the network, for the step time that profile predicts
      network_lat: float = 5e-07
          latency of a message, for the step time that profile predicts
      network_alg: Literal['vdg', 'bta'] = vdg
          all-reduce of gradients, for the step time that profile predicts
    """

    def __init__(
        self,
        model: Network | str | None = None,
        dataset: Dataset | str | None = None,
        *,
        callbacks: Sequence[Callback | Callable[[int, dict[str, float]], None]] = (),
        log: Callable[[str], None] | None = None,
        stop_on_signal: bool = True,
        batch_size: int | None = None,
        global_batch_size: int | None = None,
        dtype: Literal['float32', 'float64'] | None = None,
        math_mode: Literal['fp32', 'tf32', 'bf16', 'fp16'] | None = None,
        num_epochs: int | None = None,
        steps_per_epoch: float | None = None,
        evaluate: bool | None = None,
        evaluate_only: bool | None = None,
        weights_and_bias_filename: str | os.PathLike | None = None,
        weights_format: Literal['auto', 'NHWC', 'NCHW'] | None = None,
        weights_partial: bool | None = None,
        freeze: str | None = None,
        save_model: str | os.PathLike | None = None,
        history_file: str | os.PathLike | None = None,
        checkpoint_dir: str | os.PathLike | None = None,
        checkpoint_freq: int | None = None,
        checkpoint_steps: int | None = None,
        resume: bool | Literal['False', 'True', 'if-there'] | None = None,
        tensor_format: Literal['AUTO', 'NHWC', 'NCHW'] | None = None,
        random_seed: int | None = None,
        shared_storage: bool | None = None,
        model_sync_freq: int | None = None,
        model_sync_alg: Literal['avg', 'wavg', 'invwavg'] | None = None,
        model_sync_participation: Literal['all', 'avail2all'] | None = None,
        model_sync_min_avail: int | None = None,
        initial_model_sync: bool | None = None,
        final_model_sync: bool | None = None,
        sync_batch_norm: bool | None = None,
        dataset_path: str | os.PathLike | None = None,
        dataset_train_path: str | os.PathLike | None = None,
        dataset_test_path: str | os.PathLike | None = None,
        skip_damaged_images: bool | None = None,
        archive_format: Literal['auto', 'NCHW', 'NHWC'] | None = None,
        dataset_lang: str | None = None,
        dataset_lang2: str | None = None,
        synthetic_train_samples: int | None = None,
        synthetic_test_samples: int | None = None,
        synthetic_input_shape: Sequence[int] | None = None,
        synthetic_output_shape: int | Sequence[int] | None = None,
        synthetic_pattern: Literal['zeros', 'classes'] | None = None,
        dataset_percentage: float | None = None,
        dataset_part: str | None = None,
        test_as_validation: bool | None = None,
        validation_split: float | None = None,
        augment_shuffle: bool | None = None,
        augment: str | None = None,
        mixup: float | None = None,
        augment_flip: bool | None = None,
        augment_flip_prob: float | None = None,
        augment_crop: bool | None = None,
        augment_crop_size: int | None = None,
        augment_crop_prob: float | None = None,
        transform_square: bool | None = None,
        transform_crop: bool | None = None,
        transform_crop_perc: float | None = None,
        transform_resize: bool | None = None,
        transform_resize_size: int | None = None,
        normalize: bool | None = None,
        normalize_offset: float | Sequence[float] | None = None,
        normalize_scale: float | Sequence[float] | None = None,
        standardize: bool | None = None,
        use_synthetic_data: bool | None = None,
        loader_threads: int | None = None,
        enable_best_of: bool | None = None,
        enable_memory_cache: bool | None = None,
        enable_fused_bn_relu: bool | None = None,
        enable_fused_conv_relu: bool | None = None,
        enable_fused_conv_bn: bool | None = None,
        enable_fused_conv_bn_relu: bool | None = None,
        conv_variant: Literal['auto', 'i2c', 'gemm', 'direct', 'depthwise', 'winograd', 'dot', 'amx'] | None = None,
        best_of_file: str | os.PathLike | None = None,
        conv_direct_method: Literal['planar', 'convdirect_original_nhwc_default', 'convdirect_im2row_nhwc_default', 'convdirect_conv_gemm_nhwc_default', 'convdirect_block_blis_nhwc_blis', 'convdirect_block_blis_nhwc_8x12', 'convdirect_block_blis_nhwc_4x20', 'convdirect_block_shalom_nhwc_7x12_npa_u4', 'convdirect_tzemeng_nhwc_7x12_u4'] | None = None,
        conv_direct_methods_for_best_of: Literal['planar', 'convdirect_original_nhwc_default', 'convdirect_im2row_nhwc_default', 'convdirect_conv_gemm_nhwc_default', 'convdirect_block_blis_nhwc_blis', 'convdirect_block_blis_nhwc_8x12', 'convdirect_block_blis_nhwc_4x20', 'convdirect_block_shalom_nhwc_7x12_npa_u4', 'convdirect_tzemeng_nhwc_7x12_u4'] | Sequence[Literal['planar', 'convdirect_original_nhwc_default', 'convdirect_im2row_nhwc_default', 'convdirect_conv_gemm_nhwc_default', 'convdirect_block_blis_nhwc_blis', 'convdirect_block_blis_nhwc_8x12', 'convdirect_block_blis_nhwc_4x20', 'convdirect_block_shalom_nhwc_7x12_npa_u4', 'convdirect_tzemeng_nhwc_7x12_u4']] | None = None,
        optimizer: Literal['sgd', 'rmsprop', 'adam', 'nadam', 'adamw', 'oktopk'] | None = None,
        learning_rate: float | None = None,
        find_learning_rate: bool | None = None,
        learning_rate_scaling: bool | Literal['False', 'True', 'divide', 'multiply'] | None = None,
        optimizer_momentum: float | None = None,
        optimizer_decay: float | None = None,
        optimizer_decay_all: bool | None = None,
        optimizer_nesterov: bool | None = None,
        optimizer_beta1: float | None = None,
        optimizer_beta2: float | None = None,
        optimizer_epsilon: float | None = None,
        optimizer_rho: float | None = None,
        optimizer_density: float | None = None,
        optimizer_tau: int | None = None,
        optimizer_tau_prime: int | None = None,
        ema: float | None = None,
        clip_norm: float | None = None,
        dp_sgd_clip: float | None = None,
        dp_sgd_noise: float | None = None,
        dp_sgd_delta: float | None = None,
        accumulate_steps: int | None = None,
        loss_func: Literal['categorical_cross_entropy', 'binary_cross_entropy', 'mse', 'mae', 'categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report'] | Sequence[Literal['categorical_cross_entropy', 'binary_cross_entropy', 'mse', 'mae', 'categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report']] | None = None,
        label_smoothing: float | None = None,
        class_weights: str | None = None,
        metrics: Literal['categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report'] | Sequence[Literal['categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report']] | None = None,
        schedulers: Literal['warm_up', 'early_stopping', 'reduce_lr_on_plateau', 'reduce_lr_every_nepochs', 'model_checkpoint', 'stop_at_loss', 'cosine', 'polynomial', 'one_cycle'] | Sequence[Literal['warm_up', 'early_stopping', 'reduce_lr_on_plateau', 'reduce_lr_every_nepochs', 'model_checkpoint', 'stop_at_loss', 'cosine', 'polynomial', 'one_cycle']] | None = None,
        model_dir: str | os.PathLike | None = None,
        warm_up_batches: int | None = None,
        warm_up_epochs: int | None = None,
        early_stopping_metric: str | None = None,
        early_stopping_patience: int | None = None,
        early_stopping_minimize: bool | None = None,
        early_stopping_min_delta: float | None = None,
        reduce_lr_on_plateau_metric: str | None = None,
        reduce_lr_on_plateau_factor: float | None = None,
        reduce_lr_on_plateau_patience: int | None = None,
        reduce_lr_on_plateau_min_lr: float | None = None,
        reduce_lr_every_nepochs_factor: float | None = None,
        reduce_lr_every_nepochs_nepochs: int | None = None,
        reduce_lr_every_nepochs_min_lr: float | None = None,
        stop_at_loss_metric: str | None = None,
        stop_at_loss_threshold: float | None = None,
        model_checkpoint_metric: str | None = None,
        model_checkpoint_save_freq: int | None = None,
        cosine_min_lr: float | None = None,
        cosine_restart_epochs: int | None = None,
        cosine_restart_growth: int | None = None,
        polynomial_power: float | None = None,
        polynomial_min_lr: float | None = None,
        parallel: Literal['sequential', 'data', 'federated'] | None = None,
        server: str | None = None,
        client_name: str | None = None,
        client_labels: str | None = None,
        identity_key_file: str | os.PathLike | None = None,
        aggregator_key: str | None = None,
        local_parameters: str | None = None,
        transport: Literal['auto', 'mpi', 'tcp', 'grpc', 'mqtt'] | None = None,
        rendezvous: str | None = None,
        elastic: str | None = None,
        use_blocking_mpi: bool | None = None,
        use_mpi_buffers: bool | Literal['False', 'True'] | None = None,
        gradient_compression: Literal['none', 'fp16', 'bf16'] | None = None,
        comm_bucket_mb: str | None = None,
        comm_timeout: float | None = None,
        enable_gpu: bool | None = None,
        gpu_device: Literal['cuda', 'simulated'] | None = None,
        enable_gpudirect: bool | None = None,
        enable_nccl: bool | None = None,
        enable_cuda_graphs: bool | None = None,
        enable_cudnn_auto_conv_alg: bool | None = None,
        cudnn_plans: str | os.PathLike | None = None,
        encryption: Literal['masked', 'tenseal', 'openfhe'] | None = None,
        encryption_poly_degree: int | None = None,
        encryption_global_scale: int | None = None,
        encryption_security_level: Literal['0', '128', '192', '256'] | None = None,
        encryption_key_file: str | os.PathLike | None = None,
        plain_metrics: bool | None = None,
        mask_neighbours: int | None = None,
        least_clients: float | None = None,
        dp_clip: float | None = None,
        dp_noise: float | None = None,
        dp_delta: float | None = None,
        dp_quantile: float | None = None,
        dp_clip_rate: float | None = None,
        dp_bit_noise: float | None = None,
        tracing: bool | None = None,
        tracer_output: str | None = None,
        tracer_pmlib_server: str | None = None,
        tracer_pmlib_port: int | None = None,
        tracer_pmlib_device: str | None = None,
        profile: str | None = None,
        report: str | os.PathLike | None = None,
        energy: bool | None = None,
        tensorboard_dir: str | os.PathLike | None = None,
        force: bool | None = None,
        quiet: bool | None = None,
        verbose: bool | Literal['False', 'True', 'dispatch'] | None = None,
        cpu_speed: float | None = None,
        memory_bw: float | None = None,
        network_bw: float | None = None,
        network_lat: float | None = None,
        network_alg: Literal['vdg', 'bta'] | None = None,
    ) -> None:
        ...

    @classmethod
    def load(
        cls,
        path: str | os.PathLike,
        dataset: Dataset | str | None = None,
        *,
        callbacks: Sequence[Callback | Callable[[int, dict[str, float]], None]] = (),
        log: Callable[[str], None] | None = None,
        stop_on_signal: bool = True,
        batch_size: int | None = None,
        global_batch_size: int | None = None,
        dtype: Literal['float32', 'float64'] | None = None,
        math_mode: Literal['fp32', 'tf32', 'bf16', 'fp16'] | None = None,
        num_epochs: int | None = None,
        steps_per_epoch: float | None = None,
        evaluate: bool | None = None,
        evaluate_only: bool | None = None,
        weights_and_bias_filename: str | os.PathLike | None = None,
        weights_format: Literal['auto', 'NHWC', 'NCHW'] | None = None,
        weights_partial: bool | None = None,
        freeze: str | None = None,
        save_model: str | os.PathLike | None = None,
        history_file: str | os.PathLike | None = None,
        checkpoint_dir: str | os.PathLike | None = None,
        checkpoint_freq: int | None = None,
        checkpoint_steps: int | None = None,
        resume: bool | Literal['False', 'True', 'if-there'] | None = None,
        tensor_format: Literal['AUTO', 'NHWC', 'NCHW'] | None = None,
        random_seed: int | None = None,
        shared_storage: bool | None = None,
        model_sync_freq: int | None = None,
        model_sync_alg: Literal['avg', 'wavg', 'invwavg'] | None = None,
        model_sync_participation: Literal['all', 'avail2all'] | None = None,
        model_sync_min_avail: int | None = None,
        initial_model_sync: bool | None = None,
        final_model_sync: bool | None = None,
        sync_batch_norm: bool | None = None,
        dataset_path: str | os.PathLike | None = None,
        dataset_train_path: str | os.PathLike | None = None,
        dataset_test_path: str | os.PathLike | None = None,
        skip_damaged_images: bool | None = None,
        archive_format: Literal['auto', 'NCHW', 'NHWC'] | None = None,
        dataset_lang: str | None = None,
        dataset_lang2: str | None = None,
        synthetic_train_samples: int | None = None,
        synthetic_test_samples: int | None = None,
        synthetic_input_shape: Sequence[int] | None = None,
        synthetic_output_shape: int | Sequence[int] | None = None,
        synthetic_pattern: Literal['zeros', 'classes'] | None = None,
        dataset_percentage: float | None = None,
        dataset_part: str | None = None,
        test_as_validation: bool | None = None,
        validation_split: float | None = None,
        augment_shuffle: bool | None = None,
        augment: str | None = None,
        mixup: float | None = None,
        augment_flip: bool | None = None,
        augment_flip_prob: float | None = None,
        augment_crop: bool | None = None,
        augment_crop_size: int | None = None,
        augment_crop_prob: float | None = None,
        transform_square: bool | None = None,
        transform_crop: bool | None = None,
        transform_crop_perc: float | None = None,
        transform_resize: bool | None = None,
        transform_resize_size: int | None = None,
        normalize: bool | None = None,
        normalize_offset: float | Sequence[float] | None = None,
        normalize_scale: float | Sequence[float] | None = None,
        standardize: bool | None = None,
        use_synthetic_data: bool | None = None,
        loader_threads: int | None = None,
        enable_best_of: bool | None = None,
        enable_memory_cache: bool | None = None,
        enable_fused_bn_relu: bool | None = None,
        enable_fused_conv_relu: bool | None = None,
        enable_fused_conv_bn: bool | None = None,
        enable_fused_conv_bn_relu: bool | None = None,
        conv_variant: Literal['auto', 'i2c', 'gemm', 'direct', 'depthwise', 'winograd', 'dot', 'amx'] | None = None,
        best_of_file: str | os.PathLike | None = None,
        conv_direct_method: Literal['planar', 'convdirect_original_nhwc_default', 'convdirect_im2row_nhwc_default', 'convdirect_conv_gemm_nhwc_default', 'convdirect_block_blis_nhwc_blis', 'convdirect_block_blis_nhwc_8x12', 'convdirect_block_blis_nhwc_4x20', 'convdirect_block_shalom_nhwc_7x12_npa_u4', 'convdirect_tzemeng_nhwc_7x12_u4'] | None = None,
        conv_direct_methods_for_best_of: Literal['planar', 'convdirect_original_nhwc_default', 'convdirect_im2row_nhwc_default', 'convdirect_conv_gemm_nhwc_default', 'convdirect_block_blis_nhwc_blis', 'convdirect_block_blis_nhwc_8x12', 'convdirect_block_blis_nhwc_4x20', 'convdirect_block_shalom_nhwc_7x12_npa_u4', 'convdirect_tzemeng_nhwc_7x12_u4'] | Sequence[Literal['planar', 'convdirect_original_nhwc_default', 'convdirect_im2row_nhwc_default', 'convdirect_conv_gemm_nhwc_default', 'convdirect_block_blis_nhwc_blis', 'convdirect_block_blis_nhwc_8x12', 'convdirect_block_blis_nhwc_4x20', 'convdirect_block_shalom_nhwc_7x12_npa_u4', 'convdirect_tzemeng_nhwc_7x12_u4']] | None = None,
        optimizer: Literal['sgd', 'rmsprop', 'adam', 'nadam', 'adamw', 'oktopk'] | None = None,
        learning_rate: float | None = None,
        find_learning_rate: bool | None = None,
        learning_rate_scaling: bool | Literal['False', 'True', 'divide', 'multiply'] | None = None,
        optimizer_momentum: float | None = None,
        optimizer_decay: float | None = None,
        optimizer_decay_all: bool | None = None,
        optimizer_nesterov: bool | None = None,
        optimizer_beta1: float | None = None,
        optimizer_beta2: float | None = None,
        optimizer_epsilon: float | None = None,
        optimizer_rho: float | None = None,
        optimizer_density: float | None = None,
        optimizer_tau: int | None = None,
        optimizer_tau_prime: int | None = None,
        ema: float | None = None,
        clip_norm: float | None = None,
        dp_sgd_clip: float | None = None,
        dp_sgd_noise: float | None = None,
        dp_sgd_delta: float | None = None,
        accumulate_steps: int | None = None,
        loss_func: Literal['categorical_cross_entropy', 'binary_cross_entropy', 'mse', 'mae', 'categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report'] | Sequence[Literal['categorical_cross_entropy', 'binary_cross_entropy', 'mse', 'mae', 'categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report']] | None = None,
        label_smoothing: float | None = None,
        class_weights: str | None = None,
        metrics: Literal['categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report'] | Sequence[Literal['categorical_accuracy', 'top5_accuracy', 'categorical_hinge', 'categorical_mse', 'categorical_mae', 'regression_mse', 'regression_mae', 'binary_accuracy', 'binary_confusion_matrix', 'multiclass_confusion_matrix', 'precision', 'recall', 'f1_score', 'mean_iou', 'per_class_report']] | None = None,
        schedulers: Literal['warm_up', 'early_stopping', 'reduce_lr_on_plateau', 'reduce_lr_every_nepochs', 'model_checkpoint', 'stop_at_loss', 'cosine', 'polynomial', 'one_cycle'] | Sequence[Literal['warm_up', 'early_stopping', 'reduce_lr_on_plateau', 'reduce_lr_every_nepochs', 'model_checkpoint', 'stop_at_loss', 'cosine', 'polynomial', 'one_cycle']] | None = None,
        model_dir: str | os.PathLike | None = None,
        warm_up_batches: int | None = None,
        warm_up_epochs: int | None = None,
        early_stopping_metric: str | None = None,
        early_stopping_patience: int | None = None,
        early_stopping_minimize: bool | None = None,
        early_stopping_min_delta: float | None = None,
        reduce_lr_on_plateau_metric: str | None = None,
        reduce_lr_on_plateau_factor: float | None = None,
        reduce_lr_on_plateau_patience: int | None = None,
        reduce_lr_on_plateau_min_lr: float | None = None,
        reduce_lr_every_nepochs_factor: float | None = None,
        reduce_lr_every_nepochs_nepochs: int | None = None,
        reduce_lr_every_nepochs_min_lr: float | None = None,
        stop_at_loss_metric: str | None = None,
        stop_at_loss_threshold: float | None = None,
        model_checkpoint_metric: str | None = None,
        model_checkpoint_save_freq: int | None = None,
        cosine_min_lr: float | None = None,
        cosine_restart_epochs: int | None = None,
        cosine_restart_growth: int | None = None,
        polynomial_power: float | None = None,
        polynomial_min_lr: float | None = None,
        parallel: Literal['sequential', 'data', 'federated'] | None = None,
        server: str | None = None,
        client_name: str | None = None,
        client_labels: str | None = None,
        identity_key_file: str | os.PathLike | None = None,
        aggregator_key: str | None = None,
        local_parameters: str | None = None,
        transport: Literal['auto', 'mpi', 'tcp', 'grpc', 'mqtt'] | None = None,
        rendezvous: str | None = None,
        elastic: str | None = None,
        use_blocking_mpi: bool | None = None,
        use_mpi_buffers: bool | Literal['False', 'True'] | None = None,
        gradient_compression: Literal['none', 'fp16', 'bf16'] | None = None,
        comm_bucket_mb: str | None = None,
        comm_timeout: float | None = None,
        enable_gpu: bool | None = None,
        gpu_device: Literal['cuda', 'simulated'] | None = None,
        enable_gpudirect: bool | None = None,
        enable_nccl: bool | None = None,
        enable_cuda_graphs: bool | None = None,
        enable_cudnn_auto_conv_alg: bool | None = None,
        cudnn_plans: str | os.PathLike | None = None,
        encryption: Literal['masked', 'tenseal', 'openfhe'] | None = None,
        encryption_poly_degree: int | None = None,
        encryption_global_scale: int | None = None,
        encryption_security_level: Literal['0', '128', '192', '256'] | None = None,
        encryption_key_file: str | os.PathLike | None = None,
        plain_metrics: bool | None = None,
        mask_neighbours: int | None = None,
        least_clients: float | None = None,
        dp_clip: float | None = None,
        dp_noise: float | None = None,
        dp_delta: float | None = None,
        dp_quantile: float | None = None,
        dp_clip_rate: float | None = None,
        dp_bit_noise: float | None = None,
        tracing: bool | None = None,
        tracer_output: str | None = None,
        tracer_pmlib_server: str | None = None,
        tracer_pmlib_port: int | None = None,
        tracer_pmlib_device: str | None = None,
        profile: str | None = None,
        report: str | os.PathLike | None = None,
        energy: bool | None = None,
        tensorboard_dir: str | os.PathLike | None = None,
        force: bool | None = None,
        quiet: bool | None = None,
        verbose: bool | Literal['False', 'True', 'dispatch'] | None = None,
        cpu_speed: float | None = None,
        memory_bw: float | None = None,
        network_bw: float | None = None,
        network_lat: float | None = None,
        network_alg: Literal['vdg', 'bta'] | None = None,
    ) -> Run:
        """A run that continues with the model in a file, with its network, parameters and
        preprocessing, and the loss, the optimizer and the learning rate that it was trained with,
        unless options say otherwise. Another optimizer begins with its own constants.
        """
        ...

    def fit(self, epochs: int | None = None) -> dict[str, list[float]]:
        """Trains what is left of num_epochs, or so many epochs more, and returns the history. After
        stop() of a callback it continues there.

        Ctrl-C ends it after the step, with a checkpoint where there is a checkpoint_dir, and raises
        KeyboardInterrupt.
        """
        ...

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        *,
        split: Literal['train', 'test'] = 'test',
    ) -> dict[str, float]:
        """Loss and metrics of a split of the run's data, of another Dataset, or of arrays x and y.

        Accuracies are in per cent.
        """
        ...

    def predict(self, x: Any) -> np.ndarray:
        """The outputs for each sample of x, as training had them: (samples, outputs), where pixels
        have classes (samples, their outputs), one image after the other.
        """
        ...

    def save(self, path: str | os.PathLike) -> None:
        """Writes one file (.safetensors, .npz) with all that dtnn.load needs."""
        ...

    @property
    def history(self) -> dict[str, list[float]]:
        """Loss and metrics, a list each, of the epochs that this run has trained."""
        ...

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Copies of all parameters, by the names that files have: "1_Conv2D_weights"."""
        ...

    def set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Changes parameters, by name, to the values of arrays."""
        ...

    @property
    def options(self) -> dict[str, Any]:
        """All options as they are in force."""
        ...

    @property
    def learning_rate(self) -> float:
        """The learning rate; a callback may change it."""
        ...

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        ...

    @property
    def epochs_done(self) -> int:
        """Epochs that have come to their end."""
        ...

    @property
    def steps_done(self) -> int:
        """Updates of the parameters."""
        ...

    @property
    def dataset(self) -> Dataset:
        """The data that the run trains on."""
        ...

    def stop(self) -> None:
        """For callbacks: training ends after the current batch or epoch."""
        ...

    def end(self) -> None:
        """Finishes files, such as the page of the run; nothing can be done with the run after it.
        A run that is deleted ends, too.
        """
        ...

    def describe(self) -> str:
        """A table of the layers."""
        ...


class Arrays(Dataset):
    """Data in NumPy's arrays, or others with __dlpack__ or __array__, which are not copied.

    x: (n, height, width, channels), (n, height, width) or (n, features) of uint8 (then value / 255),
    float32 or float64; with format="NCHW", (n, channels, height, width). y: (n,) integers, classes
    from 0; (n, height, width) integers, a class per pixel, where -1 (255 of uint8) is none;
    (n, classes) where every row is 1 at one place and 0 elsewhere, classes too; other
    (n, outputs) or (n,) numbers, values. Arrays of x that are not in C order are copied once; y is
    always copied. Do not change x while a run uses it.

    Without x_test and y_test there is no test split; without x and y no training split.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        x_test: Any = None,
        y_test: Any = None,
        *,
        classes: int | None = None,
        class_names: Sequence[str] = (),
        format: str = 'NHWC',
        name: str = 'arrays',
    ) -> None:
        ...


class Error(RuntimeError):
    """What the library refuses or cannot do."""
    ...


class InvalidArgument(Error, ValueError):
    """A value, a file or an array that is wrong."""
    ...


class OutOfMemory(Error, MemoryError):
    """Memory does not suffice."""
    ...


class NotFound(Error, FileNotFoundError):
    """A file that is not there."""
    ...


def datasets() -> list[str]:
    """The names of the data sets that DTNN reads."""
    ...


def export_onnx(
    model: str | os.PathLike,
    out: str | os.PathLike,
    *,
    tensor_format: Literal['NCHW', 'NHWC'] | None = None,
    math_mode: Literal['fp32', 'int8'] | None = None,
) -> str:
    """Writes the model in a file as ONNX, and returns what the program export says of it.

    model: a file that training saved, or the name of a network, which has its initial weights.

    Options:
      tensor_format: Literal['NCHW', 'NHWC'] = NCHW
          order of the axes of the images that the exported model takes
      math_mode: Literal['fp32', 'int8'] = fp32
          fp32, or int8 for a model that quantize has prepared: QuantizeLinear and DequantizeLinear around the layers that compute in 8 bits
    """
    ...


def import_onnx(
    path: str | os.PathLike,
    out: str | os.PathLike,
    *,
    class_names: str | os.PathLike | Sequence[str] | None = None,
    final_activation: Literal['none', 'softmax', 'sigmoid'] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    square: bool | None = None,
    crop: float | None = None,
    input_shape: Sequence[int] | None = None,
    output: str | None = None,
    tensor_format: Literal['NHWC', 'NCHW'] | None = None,
) -> str:
    """Makes a model's file (.safetensors, .npz) of an ONNX file, such as PyTorch exports, and
    returns what the program import says of it.

    class_names: names in the order of the outputs, or a file of a name per line.

    Options:
      final_activation: Literal['none', 'softmax', 'sigmoid'] = none
          what is added after the last layer, unless that is it: networks of PyTorch end in logits, without the softmax by which predict gives probabilities of classes
      mean: float | Sequence[float] = None
          mean of the training data, of byte / 255: one number, or one per channel
      std: float | Sequence[float] = None
          standard deviation of the training data: one number, or one per channel
      square: bool = False
          the network was shown the largest square in the middle of an image; otherwise all of it is stretched to the network's input
      crop: float = 0
          fraction of each side that it was shown, in the middle; with square 0.875 is nearly torchvision's Resize(256), CenterCrop(224); 0: all of it, or as the file says
      input_shape: Sequence[int] = None
          size of the network's input, channels, height and width in this order, for a file that does not tell it
      output: str = None
          name of the output that the network is to have, of a file with several
      tensor_format: Literal['NHWC', 'NCHW'] = NHWC
          order of the axes of the images that the network computes with; on CPUs NHWC is faster, and quantize needs it
    """
    ...


def import_weights(
    path: str | os.PathLike,
    model: str | os.PathLike,
    out: str | os.PathLike,
    *,
    class_names: str | os.PathLike | Sequence[str] | None = None,
    weights_partial: bool | None = None,
    final_activation: Literal['none', 'softmax', 'sigmoid'] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    square: bool | None = None,
    crop: float | None = None,
    input_shape: Sequence[int] | None = None,
    tensor_format: Literal['NHWC', 'NCHW'] | None = None,
) -> str:
    """Makes a model's file of weights of PyTorch (.pth, .pt, .safetensors), and returns what the
    program import says of it.

    model: their network: a name, such as "torchvision_resnet18", or the file of a model that has
    it. class_names: names in the order of the outputs, or a file of a name per line.

    Options:
      weights_partial: bool = False
          layers that a file of weights has in another shape, such as the last one for other classes, keep their initial values
      final_activation: Literal['none', 'softmax', 'sigmoid'] = none
          what is added after the last layer, unless that is it: networks of PyTorch end in logits, without the softmax by which predict gives probabilities of classes
      mean: float | Sequence[float] = None
          mean of the training data, of byte / 255: one number, or one per channel
      std: float | Sequence[float] = None
          standard deviation of the training data: one number, or one per channel
      square: bool = False
          the network was shown the largest square in the middle of an image; otherwise all of it is stretched to the network's input
      crop: float = 0
          fraction of each side that it was shown, in the middle; with square 0.875 is nearly torchvision's Resize(256), CenterCrop(224); 0: all of it, or as the file says
      input_shape: Sequence[int] = None
          size of the network's input, channels, height and width in this order, for a file that does not tell it
      tensor_format: Literal['NHWC', 'NCHW'] = NHWC
          order of the axes of the images that the network computes with; on CPUs NHWC is faster, and quantize needs it
    """
    ...


def load(
    path: str | os.PathLike,
    *,
    batch_size: int = 32,
    math_mode: Literal['fp32', 'bf16', 'int8'] = 'fp32',
) -> Predictor:
    """The model in a file that training saved.

    batch_size: the most samples that are computed at a time; memory grows with it, answers stay
    the same. math_mode: bf16 is faster on CPUs with instructions for it, and less exact; int8
    computes in 8 bits, which needs a model that was quantized.
    """
    ...


def models() -> list[str]:
    """The names of the networks that come with DTNN."""
    ...


def open_dataset(name: str, path: str | os.PathLike | None = None, **options: Any) -> Dataset:
    """A data set by name (dtnn.datasets()), such as "mnist" or "folder", from the files at path.

    options: those of Run that say how data are read (dataset_train_path, transform_resize, ...),
    random_seed of generated data and, for imagenet, the model.
    """
    ...


def quantize(
    model: str | os.PathLike,
    out: str | os.PathLike,
    calibrate: Dataset | str | os.PathLike,
    *,
    dataset_path: str | os.PathLike | None = None,
    samples: int | None = None,
    method: Literal['minmax', 'percentile', 'entropy'] | None = None,
    largest_error: float | None = None,
    test_samples: int | None = None,
    batch_size: int | None = None,
) -> str:
    """Prepares the model in a file for inference in 8 bits, dtnn.load(out, math_mode="int8"), and
    returns what the program quantize says: each layer's error, accuracy and speed of both.

    calibrate: samples to find ranges of values with, as training showed them: dtnn.Arrays(x, y),
    whose training samples are taken and whose test samples are measured on; the name of a data set,
    with dataset_path; or a folder of images.

    Options:
      dataset_path: str | os.PathLike = None
          folder or archive of the data set's files, as benchmark takes it
      samples: int = 512
          samples to find ranges with; some hundreds are enough
      method: Literal['minmax', 'percentile', 'entropy'] = minmax
          minmax: ranges hold all values; percentile: all but one of 10000 at each end; entropy: those with the least divergence between the distributions of values before and after
      largest_error: float = 0.1
          a layer whose results differ by more in 8 bits stays in float32
      test_samples: int = 2000
          samples of the data set on which accuracy and speed are measured; 0: all
      batch_size: int = 32
          samples per batch; larger batches are faster and need more memory
    """
    ...


def run_as_rank(work: Callable[[int, int], Any], **options: Any) -> None:
    """Joins the processes that mpirun, srun or launch started, and calls work(rank, ranks), in
    which runs with parallel="data" train one model on all of them. They end with it.

    All ranks create such a run, and call fit(), evaluate(), predict() and save(), together; rank 0
    writes files. Samples are divided among them. An exception in one of them ends all. options: how
    ranks meet, wait and add: transport, rendezvous, comm_timeout, use_mpi_buffers, as of the program
    benchmark; all others are those of the runs.
    """
    ...
