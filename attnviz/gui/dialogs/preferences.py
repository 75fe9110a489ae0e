"""The preferences, one control for every row of `SETTINGS`."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialogButtonBox, QFormLayout, QWidget

from attnviz.engines.table import ENGINE_BY_ID
from attnviz.gui.dialogs.dialog import Dialog, column_of
from attnviz.gui.look.theme import GRID
from attnviz.gui.look.words import says
from attnviz.gui.services.services import Services
from attnviz.gui.settings import SETTINGS, Setting
from attnviz.gui.widgets.combo import DropDown
from attnviz.i18n import N_, _


class PreferencesDialog(Dialog):
    """Shows the stored preferences; `store` writes the choices."""

    def __init__(self, window: QWidget, services: Services) -> None:
        super().__init__(window, services, "preferences_dialog", N_("Preferences"))
        self._settings = services.settings
        self._controls: dict[str, QComboBox | QCheckBox] = {}
        form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        for row in SETTINGS:
            control = self._control(row)
            self._controls[row.key] = control
            form.addRow(_(row.title), control)
        self._engine, self._device = self._combo("engine"), self._combo("device")
        self._engine.currentIndexChanged.connect(self._offer_devices)
        self._offer_devices()
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = column_of(self)
        column.addLayout(form)
        column.addWidget(buttons)

    def store(self) -> None:
        """Write to the settings what was chosen anew."""
        for key, control in self._controls.items():
            is_box = isinstance(control, QCheckBox)
            value = control.isChecked() if is_box else control.currentData()  # type: ignore[union-attr]
            if value != self._settings[key]:
                self._settings[key] = value

    def _combo(self, key: str) -> QComboBox:
        control = self._controls[key]
        assert isinstance(control, QComboBox)
        return control

    @Slot()
    def _offer_devices(self) -> None:
        """Offer the devices of the chosen engine; a device that it lacks is replaced by the first."""
        engine, model = ENGINE_BY_ID[self._engine.currentData()], self._device.model()
        assert isinstance(model, QStandardItemModel)
        for index in range(self._device.count()):
            model.item(index).setEnabled(self._device.itemData(index) in engine.devices)
        if self._device.currentData() not in engine.devices:
            self._device.setCurrentIndex(0)

    def _control(self, row: Setting) -> QComboBox | QCheckBox:
        value = self._settings[row.key]
        if row.kind is bool:
            box = says(QCheckBox(), id=f"preference_{row.key}", name=row.title)
            box.setChecked(value)
            return box
        combo = says(DropDown(), id=f"preference_{row.key}", name=row.title)
        for choice, title in row.choices:
            combo.addItem(_(title), choice)
        combo.setCurrentIndex(combo.findData(value))
        return combo
