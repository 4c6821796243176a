"""dtnn.Network."""

import json
import pathlib
import re
import tempfile
import unittest

import dtnn
import numpy as np


class NetworkTest(unittest.TestCase):
    def parameters(self, net):
        data = dtnn.open_dataset("synthetic", synthetic_input_shape=[3, 8, 8])
        run = dtnn.Run(net, data, schedulers=[])
        return {name: values.shape for name, values in run.parameters.items()}

    def test_has_the_layers_that_were_written_down(self):
        net = dtnn.Network("mine").conv2d(4, (3, 1), stride=2, padding=(1, 0), bias=False)
        net.batch_norm(momentum=0.8, epsilon=1e-3).relu().max_pool2d().average_pool2d(2, stride=1)
        net.adaptive_average_pool2d(1).upsample2d((2, 1), "bilinear").dropout(0.5).flatten()
        net.fc(10).softmax()
        self.assertEqual(
            self.parameters(net),
            {
                "1_Conv2D_weights": (3, 3, 1, 4),
                "2_BatchNormalization_beta": (4,),
                "2_BatchNormalization_gamma": (4,),
                "2_BatchNormalization_running_var": (4,),
                "2_BatchNormalization_running_mean": (4,),
                "10_FC_weights": (8, 10),
                "10_FC_biases": (10,),
            },
        )

    def test_pixels_as_tokens(self):
        net = dtnn.Network().conv2d(6, 4, stride=4).class_token().position_embedding()
        net.pixel_slice(0, 1).scale(0.5).flatten().fc(10).softmax()
        self.assertEqual(
            self.parameters(net),
            {
                "1_Conv2D_weights": (3, 4, 4, 6),
                "1_Conv2D_biases": (6,),
                "2_ClassToken_token": (6,),
                "3_PositionEmbedding_embedding": (6 * (1 + 2 * 2),),
                "7_FC_weights": (6, 10),
                "7_FC_biases": (10,),
            },
        )

    def test_groups_and_images_made_larger(self):
        net = dtnn.Network().conv2d(4, 1, bias=False).conv2d(6, 3, groups=2, bias=False)
        net.group_norm(3).group_norm(per_pixel=True, epsilon=1e-6)
        net.transposed_conv2d(2, 2, stride=2, groups=2, bias=False).upsample2d()
        net.concat(
            dtnn.Network().channel_slice(1, 1), dtnn.Network().channel_slice(0, 1)
        ).channel_shuffle(2).flatten()
        net.fc(10, bias=False).softmax()
        shapes = self.parameters(net)
        self.assertEqual(shapes["2_Conv2D_weights"], (2, 3, 3, 6))
        self.assertEqual(shapes["3_GroupNormalization_gamma"], (6,))
        self.assertEqual(shapes["5_TransposedConv2D_weights"], (1, 2, 2, 6))
        self.assertEqual(shapes["12_FC_weights"], (24 * 24 * 2, 10))

    def test_every_option_reaches_its_layer(self):
        net = dtnn.Network().input(40, 50, 4)
        net.conv2d(4, (2, 3), stride=(1, 2), padding=(3, 4), dilation=(5, 6), groups=2)
        net.transposed_conv2d(
            4, (2, 3), stride=(3, 4), padding=(1, 2), output_padding=(2, 1), dilation=(5, 6), groups=2
        )
        net.max_pool2d((2, 3), stride=(4, 5), padding=(1, 2), dilation=(2, 3))
        net.average_pool2d((3, 2), stride=(2, 1), padding=(2, 1), dilation=(3, 2), count_padding=True)
        net.upsample2d((2, 3), "bilinear", align_corners=True)
        table = net.describe()
        for cell in [
            "padd=(3,4), stride=(1,2), dilat=(5,6), groups=2",
            "padd=(1,2), stride=(3,4), dilat=(5,6), output_padding=(2, 1), groups=2",
            "padd=(1,2), stride=(4,5), dilat=(2,3)",
            "padd=(2,1), stride=(2,1), dilat=(3,2), counts padding",
            "scale=(2, 3), bilinear, align_corners",
        ]:
            self.assertIn(cell, table)

    def test_words_and_numbers_reach_their_layers(self):
        net = dtnn.Network().conv2d(4, 1, grouping="pointwise", initializer="he_uniform")
        net.batch_norm(momentum=0.75, epsilon=0.25).transposed_conv2d(4, 1, initializer="ones")
        net.group_norm(2, epsilon=0.125).dropout(0.375).scale(1.5).flatten()
        net.fc(10, initializer="he_normal").softmax()
        data = dtnn.open_dataset("synthetic", synthetic_input_shape=[3, 8, 8])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "made.safetensors")
            dtnn.Run(net, data, schedulers=[]).save(path)
            contents = path.read_bytes()
        header = json.loads(contents[8 : 8 + int.from_bytes(contents[:8], "little")])
        network = header["__metadata__"]["__network__"]
        found = re.findall(r'name: "(\w+)"\s+(?:text|real): "?([\w.]+)', network)
        self.assertEqual(
            found,
            [
                ("grouping", "pointwise"),
                ("initializer", "he_uniform"),
                ("momentum", "0.75"),
                ("epsilon", "0.25"),
                ("initializer", "ones"),
                ("epsilon", "0.125"),
                ("rate", "0.375"),
                ("factor", "1.5"),
                ("initializer", "he_normal"),
            ],
        )

    def test_paths_are_networks(self):
        branch = dtnn.Network().conv2d(4, 1)
        net = dtnn.Network().conv2d(4, 1).add(dtnn.Network(), branch)
        net.concat(dtnn.Network(), dtnn.Network().conv2d(2, 1)).flatten().fc(10).softmax()
        branch.conv2d(99)  # a path is copied when it is used
        shapes = list(self.parameters(net).values())
        self.assertIn((8 * 8 * 6, 10), shapes)
        self.assertNotIn(99, [shape[-1] for shape in shapes])
        net = dtnn.Network().conv2d(4, 1)
        net.multiply(dtnn.Network(), dtnn.Network().adaptive_average_pool2d().conv2d(4, 1))
        shapes = self.parameters(net.activation("silu").flatten().fc(10).softmax()).values()
        self.assertIn((8 * 8 * 4, 10), list(shapes))

    def test_activations_have_numbers(self):
        net = dtnn.Network().input(8, 8, 4).activation("leaky_relu", slope=0.2)
        net.activation("elu", alpha=0.5).activation("clip", low=-2, high=0.25).prelu()
        table = net.activation("mish").activation("softplus").prelu(per_channel=False).describe()
        for part in ["slope 0.2", "alpha 0.5", "low -2, high 0.25", "Mish", "Softplus", "one slope"]:
            self.assertIn(part, table)
        shapes = self.parameters(dtnn.Network().prelu().prelu(False).flatten().fc(10).softmax())
        self.assertEqual(shapes["1_PRelu_slopes"], (3,))
        self.assertEqual(shapes["2_PRelu_slopes"], (1,))

    def test_attention_is_a_block(self):
        net = dtnn.Network().conv2d(4, 1).self_attention(2, key_channels=6, bias=False)
        shapes = self.parameters(net.self_attention().flatten().fc(10).softmax())
        self.assertEqual(shapes["6_Conv2D_weights"], (4, 1, 1, 6))
        self.assertEqual(len([name for name in shapes if name.endswith("biases")]), 6)
        table = dtnn.Network().input(8, 8, 4).self_attention(2, key_channels=6).describe()
        self.assertRegex(table, r"ScoresBlockCPU \(2-path\) *\|[^|]*\| *\(8, 8, 128\)")

    def test_attention_may_be_made_of_its_parts(self):
        def pointwise(channels):
            return dtnn.Network().conv2d(channels, 1)

        def attention(factor, net):
            weights = pointwise(4).scores(dtnn.Network(), pointwise(4), heads=2, factor=factor)
            net = net.conv2d(6, 1).weighted_sum(weights.group_softmax(2), pointwise(6), heads=2)
            return net.flatten().fc(10).softmax()

        table = attention(0.5, dtnn.Network().input(8, 8, 4)).describe()
        self.assertRegex(table, r"ScoresBlockCPU \(2-path\) *\|[^|]*\| *\(8, 8, 128\)")
        self.assertRegex(table, r"WeightedSumBlockCPU \(2-path\) *\|[^|]*\| *\(8, 8, 6\)")
        self.assertIn("groups 2", table)
        data = dtnn.open_dataset("synthetic", synthetic_input_shape=[3, 8, 8])
        x = np.random.default_rng(1).integers(0, 256, (2, 8, 8, 3), np.uint8)
        half, same, five = (
            dtnn.Run(attention(factor, dtnn.Network()), data, schedulers=[]).predict(x)
            for factor in (0.5, 0.5, 5)
        )
        np.testing.assert_array_equal(half, same)
        self.assertGreater(np.abs(half - five).max(), 1e-6)
        with self.assertRaisesRegex(TypeError, "paths: expected networks, not 3"):
            dtnn.Network().scores(dtnn.Network(), 3)
        with self.assertRaisesRegex(ValueError, r"GroupSoftmax\): .*3"):
            self.parameters(dtnn.Network().conv2d(4, 1).group_softmax(3).flatten().fc(10).softmax())

    def test_images_are_padded(self):
        net = dtnn.Network().input(8, 8, 1).pad2d((1, 0), 2, mode="reflect").pad2d(after=1, value=0.5)
        self.assertIn("top 1, bottom 2, left 0, right 2, reflect", net.describe())
        self.assertIn("top 0, bottom 1, left 0, right 1, constant 0.5", net.describe())

    def test_rows_and_columns_are_taken(self):
        net = dtnn.Network().input(8, 8, 1).slice2d((1, 0), step=2).slice2d(count=(3, 2))
        self.assertIn("rows from 1 on, step 2; columns from 0 on, step 2", net.describe())
        self.assertIn("rows from 0 on: 3; columns from 0 on: 2", net.describe())

    def test_windows_lie_side_by_side(self):
        for pooled, inputs in (
            (dtnn.Network().max_pool2d(), 4 * 4 * 3),
            (dtnn.Network().max_pool2d(2, stride=1), 7 * 7 * 3),
            (dtnn.Network().average_pool2d((4, 2)), 2 * 4 * 3),
            (dtnn.Network().average_pool2d(0), 3),
        ):
            net = pooled.flatten().fc(10).softmax()
            self.assertEqual(self.parameters(net)["3_FC_weights"], (inputs, 10))

    def test_means_may_count_padding(self):
        net = dtnn.Network().input(8, 8, 3)
        self.assertNotIn("counts padding", net.average_pool2d(3, stride=1, padding=1).describe())
        net.average_pool2d(3, stride=1, padding=1, count_padding=True)
        self.assertIn("counts padding", net.describe())

    def test_describes_itself(self):
        net = dtnn.Network("mine").input(8, 8, 3).flatten().fc(5, initializer="he_normal").sigmoid()
        self.assertIn("(192, 5)", net.describe())
        self.assertIn("mine", repr(net))
        for net in (dtnn.Network().fc(5), dtnn.Network()):
            with self.assertRaisesRegex(ValueError, r"takes; .* dtnn.Run\(network, data\).describe"):
                net.describe()

    def test_names_of_keras_and_pytorch_lead_to_layers(self):
        for name, meant in (("Dense", "fc"), ("avg_pool2d", "average_pool2d")):
            with self.assertRaises(AttributeError) as error:
                getattr(dtnn.Network(), name)
            self.assertEqual(
                str(error.exception), f"dtnn.Network has no {name!r}; did you mean {meant!r}?"
            )
        self.assertFalse(hasattr(dtnn.Network(), "lstm"))
        names = dtnn._network._NAMES_ELSEWHERE.values()
        self.assertTrue(all(hasattr(dtnn.Network, name) for name in names))

    def test_mistakes_are_named(self):
        def refuses(error, words, make):
            with self.assertRaisesRegex(error, words):
                self.parameters(make(dtnn.Network()))

        refuses(ValueError, r"layer 1 \(Conv2D\): .*filters is -1", lambda n: n.conv2d(-1))
        refuses(ValueError, "filters is 46116", lambda n: n.conv2d(2**62))
        refuses(ValueError, "does not fit into 64 bits", lambda n: n.conv2d(2**64))
        refuses(ValueError, "vertical kernel is 0", lambda n: n.conv2d(3, 0))
        refuses(ValueError, "vertical padding is -5", lambda n: n.conv2d(3, padding=-5))
        refuses(ValueError, "vertical dilation is 46", lambda n: n.conv2d(3, dilation=2**62))
        refuses(ValueError, "horizontal stride is 0", lambda n: n.conv2d(3, stride=(1, 0)))
        refuses(ValueError, "pool: .*expected", lambda n: n.max_pool2d(-3))
        refuses(ValueError, "adaptive pool: output height is -2", lambda n: n.adaptive_average_pool2d(-2))
        refuses(ValueError, "scale is 0, expected 1 to 1024", lambda n: n.upsample2d(0))
        refuses(ValueError, "mode=cubic: expected nearest or bilinear", lambda n: n.upsample2d(2, "cubic"))
        refuses(ValueError, "groups is 2, expected a divisor of 3", lambda n: n.channel_shuffle(2))
        refuses(ValueError, "3 channels from channel 1 on", lambda n: n.channel_slice(1, 3))
        refuses(ValueError, "mode=wrap: expected constant, reflect or edge", lambda n: n.pad2d(1, mode="wrap"))
        refuses(ValueError, "pad: -1 rows or columns", lambda n: n.pad2d(-1))
        refuses(ValueError, "3 rows from number 6 on", lambda n: n.slice2d((6, 0), (3, 1)))
        refuses(ValueError, "which 2 heads divide evenly", lambda n: n.self_attention(2))
        refuses(ValueError, "divides 4 channels into 3 groups", lambda n: n.conv2d(4, 1).group_norm(3))
        refuses(ValueError, "stride is 0, expected", lambda n: n.transposed_conv2d(3, stride=0))
        refuses(ValueError, "put a Flatten before", lambda n: n.fc(10))
        refuses(ValueError, r"more than 2\^48 elements", lambda n: n.flatten().fc(2**60))
        refuses(ValueError, "dropout: needs a rate in .0, 1., not nan", lambda n: n.dropout(float("nan")))
        with self.assertRaises(dtnn.InvalidArgument):  # at once
            dtnn.Network().dropout(1.5)
        refuses(ValueError, "alpha is -1, expected", lambda n: n.activation("elu", alpha=-1))
        refuses(ValueError, "has 4 outputs, but data set synthetic", lambda n: n.flatten().fc(4))
        refuses(ValueError, "at least one path", lambda n: n.add())
        refuses(ValueError, "positive extents", lambda n: n.input(8, 8, -1))
        refuses(ValueError, "must come first", lambda n: n.relu().input(8, 8, 3))
        refuses(ValueError, "activation=relux: expected relu, ", lambda n: n.activation("relux"))
        words = "^slope: no such option of elu; it is one of leaky_relu$"
        refuses(ValueError, words, lambda n: n.activation("elu", slope=0.01))
        for name, owner in (("slope", "leaky_relu"), ("alpha", "elu"), ("low", "clip"), ("high", "clip")):
            words = f"^{name}: no such option of relu; it is one of {owner}$"
            refuses(ValueError, words, lambda n: n.activation("relu", **{name: 0}))
        refuses(ValueError, "grouping=all: expected standard, ", lambda n: n.conv2d(3, grouping="all"))
        refuses(ValueError, "initializer=x: expected zeros", lambda n: n.fc(3, initializer="x"))
        refuses(TypeError, "filters=3.5: expected a whole number", lambda n: n.conv2d(3.5))
        refuses(TypeError, "paths: expected networks, not 5", lambda n: n.add(n, 5))
        refuses(TypeError, "kind=5: expected a text", lambda n: n.activation(5))
        refuses(TypeError, "name=5: expected a text", lambda n: dtnn.Network(5))
        refuses(TypeError, "kernel=.1, 2, 3.: expected", lambda n: n.conv2d(3, (1, 2, 3)))
